import type { ReleaseOptions } from "../api/handle.js";
import { checkBoolean, checkOptions, checkSignal } from "./checks.js";

const known: ReadonlySet<string> = new Set(["signal", "keep"]);

/** Throws `InvalidArgumentError` for options that a release does not take. */
export function checkReleaseOptions(options: ReleaseOptions | undefined): void {
  checkOptions("release", options, known);
  checkSignal("release: signal", options?.signal);
  checkBoolean("release: keep", options?.keep);
}
