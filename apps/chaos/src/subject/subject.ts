import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { nodeWorker } from "../engine/programs.js";
import { WorkerProcess, type WorkerProgram } from "../engine/worker-process.js";
import { type Provides, readProvides } from "../workload/provides.js";

/** A client from outside this package that takes the place of every client of a scenario. */
export interface Subject {
  /** The name in reports. */
  readonly name: string;
  readonly program: WorkerProgram;
  readonly provides: Provides;
}

/** The program of a subject, before it was asked what it provides. */
export type SubjectProgram = Pick<Subject, "name" | "program">;

/** The default export of a file, run in this package's worker. */
export const clientProgram = (file: string): SubjectProgram => ({
  name: file,
  program: nodeWorker(pathToFileURL(resolve(file)).href),
});

/** A worker in any language, given as a shell command line. */
export const commandProgram = (command: string): SubjectProgram => ({
  name: command,
  // The shell is replaced by the worker, because signals must reach the worker itself.
  program: { command: "/bin/sh", args: ["-c", `exec ${command}`] },
});

const answerWithinMs = 60_000;

/**
 * Starts the subject once and asks what it provides. When `signal` aborts, the subject is killed, and the promise
 * rejects with the reason.
 * @throws SubjectError with a message for the author of the subject
 */
export async function describe(
  { name, program }: SubjectProgram,
  logFile: string,
  signal: AbortSignal,
): Promise<Subject> {
  signal.throwIfAborted();
  let answer: (provides: unknown) => void = () => {};
  let refuse: (error: Error) => void = () => {};
  const answered = new Promise<unknown>((resolve, reject) => {
    answer = resolve;
    refuse = reject;
  });
  const worker = new WorkerProcess("about", program, logFile, (word) => {
    if (!("say" in word)) refuse(new SubjectError(`${name}: it answered about with ${shown(word)}`));
    else if (word.say === "about") answer(word.provides);
    else if (word.say === "failed") refuse(new SubjectError(`${name}: ${word.error}`));
    else refuse(new SubjectError(`${name}: it answered about with ${shown(word)}`));
  });
  const timer = setTimeout(
    () => refuse(new SubjectError(`${name}: no answer to {"do":"about"} within ${answerWithinMs / 1_000} s`)),
    answerWithinMs,
  );
  void worker.exited.then(({ code, signal }) =>
    refuse(
      new SubjectError(
        `${name}: it ended with ${code ?? signal} and did not answer {"do":"about"}\n${worker.logTail()}`.trimEnd(),
      ),
    ),
  );
  const heard = (): void => refuse(signal.reason as Error);
  signal.addEventListener("abort", heard, { once: true });
  try {
    worker.tell({ do: "about" });
    return { name, program, provides: readProvides(await answered) };
  } catch (error) {
    if (error instanceof RangeError) throw new SubjectError(`${name}: ${error.message}`);
    throw error;
  } finally {
    signal.removeEventListener("abort", heard);
    clearTimeout(timer);
    await worker.kill();
  }
}

const shown = (word: unknown): string => JSON.stringify(word).slice(0, 200);

/** A subject cannot be started, or does not keep to the protocol. */
export class SubjectError extends Error {}
