import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { eventually } from "@holdfast/test-servers";
import { scratchInside } from "../../support/process/emit.js";

const dist = pathToFileURL(fileURLToPath(new URL("../../../apps/chaos/dist/", import.meta.url)));
const saysWithinMs = 120_000;

/** A program that runs with its own network and its own mounts, as a runner does. */
export interface InsideProgram {
  /** The process outside, which started the one inside. */
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The next line of JSON that it prints. Rejects if it ends without one. */
  said<T>(): Promise<T>;
  /** All text that it wrote to standard error. */
  errors(): string;
}

/**
 * Runs `body` as the body of a module inside the namespaces, with the built runner (see `buildPackages`). In scope are the
 * functions of `engine/network`, `say(value)`, which prints a line of JSON, and `load`, which imports a file of the runner.
 */
export async function startInside(body: string): Promise<InsideProgram & AsyncDisposable> {
  const scratch = await scratchInside();
  const file = join(scratch.dir, "inside.mjs");
  await writeFile(
    file,
    `
    import { alone, allowedNamespaces, createSwitch, enterNamespaces, insideNamespaces, ring, settleInside } from ${text("engine/network/index.js")};
    const load = (path) => import(new URL(path, ${JSON.stringify(dist.href)}));
    const say = (value) => console.log(JSON.stringify(value));
    if (insideNamespaces() === undefined) {
      const kind = await allowedNamespaces();
      if (kind === undefined) throw new Error("this machine allows no namespaces: holdfast-chaos doctor says why");
      process.exitCode = await enterNamespaces(kind);
    } else {
      await settleInside();
      ${body}
    }
  `,
  );
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  let errors = "";
  child.stderr.on("data", (bytes: Buffer) => {
    errors += bytes.toString();
  });
  let over = false;
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => {
      over = true;
      resolve({ code, signal });
    });
  });
  return {
    child,
    ended,
    errors: () => errors,
    async said<T>() {
      await eventually(() => lines.length > 0 || over, {
        what: "a line of the program inside",
        withinMs: saysWithinMs,
        detail: () => errors,
      });
      const line = lines.shift();
      if (line === undefined) throw new Error(`the program inside ended without a word: ${errors}`);
      return JSON.parse(line) as T;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      await scratch[Symbol.asyncDispose]();
    },
  };
}

const text = (path: string): string => JSON.stringify(new URL(path, dist).href);
