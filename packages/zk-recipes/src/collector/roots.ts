import { InvalidArgumentError } from "@holdfast/core";
import { InvalidPathError, joinPath, validatePath } from "@holdfast/zk-protocol";

/** A root as it was configured. */
export interface RootPattern {
  /** Below the chroot, as the operator wrote it. */
  readonly text: string;
  /** The server's own path up to the first `*`. */
  readonly base: string;
  /** What follows `base`: names, and `*` for any one. Empty for a plain path. */
  readonly rest: readonly string[];
}

/** A `*` at the end says no more than its parent: whatever is below that is looked at anyway. */
export function parseRoot(text: string, chroot: string): RootPattern {
  if (typeof text !== "string") throw new InvalidArgumentError(`roots: ${String(text)} is not a path`);
  const trimmed = text.replace(/(\/\*)+$/, "") || "/";
  try {
    validatePath(trimmed);
  } catch (error) {
    if (!(error instanceof InvalidPathError)) throw error;
    throw new InvalidArgumentError(`roots: ${error.message}`, { cause: error });
  }
  const segments = trimmed.split("/").filter((segment) => segment !== "");
  const odd = segments.find((segment) => segment.includes("*") && segment !== "*");
  if (odd !== undefined) {
    throw new InvalidArgumentError(
      `roots: in ${JSON.stringify(text)} "*" must be a whole segment, not ${JSON.stringify(odd)}`,
    );
  }
  const star = segments.indexOf("*");
  const fixed = star < 0 ? segments : segments.slice(0, star);
  const base = fixed.reduce((path, segment) => joinPath(path, segment), chroot === "" ? "/" : chroot);
  return { text, base, rest: star < 0 ? [] : segments.slice(star) };
}

/** Of overlapping paths the upper ones: a watch of the lower one would tell everything twice. */
export function withoutCovered(paths: readonly string[]): string[] {
  const distinct = [...new Set(paths)];
  return distinct.filter((path) => !distinct.some((other) => other !== path && isBelow(path, other)));
}

export function isBelow(path: string, root: string): boolean {
  return root === "/" || path.startsWith(`${root}/`);
}
