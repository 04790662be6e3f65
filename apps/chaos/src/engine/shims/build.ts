import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "@holdfast/test-servers";
import { ProgramError, runProgram } from "../machine/run-program.js";
import { ShimHandle } from "./shim-handle.js";

const source = fileURLToPath(new URL("../../../shims/holdfast-shim.c", import.meta.url));
const buildWithinMs = 60_000;

/** A shim that was built in a folder, for `LD_PRELOAD` of dynamically linked programs. */
export interface Shims {
  readonly library: string;
  /** The handle of one server or worker, or of several that share a clock. Its file is in the same folder. */
  handle(name: string): ShimHandle;
}

/** The C compiler of this machine: `CC`, `cc`, `gcc` or `clang`. */
export function findCompiler(): string | undefined {
  const { CC } = process.env;
  if (CC !== undefined && CC !== "") return CC.includes("/") ? CC : findProgram(CC);
  return findProgram("cc") ?? findProgram("gcc") ?? findProgram("clang");
}

/**
 * Builds the shim into `folder`, which takes about half a second. The folder must exist as long as any program that was
 * started with the shim.
 * @throws ProgramError if there is no compiler, or it fails; then with its output.
 */
export async function buildShims(folder: string): Promise<Shims> {
  const compiler = findCompiler();
  if (compiler === undefined) throw new ProgramError("there is no C compiler (cc, gcc or clang)", null);
  const library = join(folder, "holdfast-shim.so");
  await runProgram(compiler, ["-shared", "-fPIC", "-O2", "-o", library, source], {
    withinMs: buildWithinMs,
  });
  return {
    library,
    handle: (name) => new ShimHandle(library, join(folder, `${name}.shim`)),
  };
}
