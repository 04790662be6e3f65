import type { Contention } from "./contend.js";
import { buildPackages, emit } from "./emit.js";
import { LineProcess } from "./line-process.js";

const answerWithinMs = 30_000;

export interface ContenderProcess {
  readonly pid: number;
  contend(contention: Contention, withinMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts a Node.js process that holds locks through the built packages, as an installed service would. */
export async function startContenderProcess(
  connect: string,
  sessionTimeoutMs = 10_000,
): Promise<ContenderProcess> {
  await buildPackages();
  const emitted = await emit("support/process/contender");
  const lines = new LineProcess(process.execPath, [emitted.file]);
  try {
    await lines.request("connect", [connect, String(sessionTimeoutMs)], answerWithinMs);
  } catch (error) {
    await lines.kill();
    throw error;
  } finally {
    // By now the process has loaded the program.
    await emitted[Symbol.asyncDispose]();
  }
  return {
    pid: lines.pid,
    async contend({ path, counterFile, logFile, grants, label }, withinMs) {
      await lines.request("contend", [path, counterFile, logFile, String(grants), label], withinMs);
    },
    async close() {
      try {
        await lines.request("close", [], answerWithinMs);
      } finally {
        await lines.end(5_000);
      }
    },
  };
}
