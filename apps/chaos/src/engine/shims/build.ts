import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "@holdfast/test-servers";
import { ProgramError, runProgram } from "../machine/run-program.js";
import { ShimHandle } from "./shim-handle.js";

const source = fileURLToPath(new URL("../../../shims/holdfast-shim.c", import.meta.url));
const buildWithinMs = 60_000;

/** A shim that was built in a folder; for `LD_PRELOAD` of dynamically linked programs. */
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
 * Builds the shim into `folder`, which takes about half a second; the folder has to live as long as what is started with it.
 * @throws ProgramError when there is no compiler, with what it said when it fails.
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
