import { InvalidArgumentError } from "@holdfast/core";
import { checkKnownKeys, checkObject, show } from "@holdfast/core/internal";
import { InvalidPathError, isValidPath, joinPath, validatePath } from "@holdfast/zk-protocol";

/** A root as it was configured. */
export interface RootPattern {
  /** Below the chroot, as the operator wrote it. */
  readonly text: string;
  /** The server's own path up to the first `*`. */
  readonly base: string;
  /** The segments after `base`: names, and `*` for any one name. Empty for a plain path. */
  readonly rest: readonly string[];
  /** Whether a lone ephemeral node below it is a naive mutex. Any registration of a service looks the same. */
  readonly naive: boolean;
}

/** A root as options take it: a path, or a path and what is kept below it. */
export type CollectorRoot = string | { readonly path: string; readonly naive?: boolean };

/** Parses one root. A `*` at its end is removed: it adds nothing, because everything below its parent is looked at anyway. */
export function parseRoot(root: CollectorRoot, chroot: string): RootPattern {
  const { path: text, naive = false } = typeof root === "string" ? { path: root } : readRoot(root);
  if (typeof text !== "string") throw new InvalidArgumentError(`roots: ${show(text)} is not a path`);
  const trimmed = text.replace(/(\/\*)+$/, "") || "/";
  if (naive && trimmed === "/") {
    throw new InvalidArgumentError(
      "roots: naive: true must not be said of /, as every ephemeral node of the server would count as a lock; name the path of the locks",
    );
  }
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
  return { text, base, rest: star < 0 ? [] : segments.slice(star), naive };
}

function readRoot(root: Exclude<CollectorRoot, string>): { readonly path: string; readonly naive?: boolean } {
  checkObject("roots", root);
  checkKnownKeys("roots", root, new Set(["path", "naive"]));
  if (root.naive !== undefined && typeof root.naive !== "boolean") {
    throw new InvalidArgumentError(`roots: naive must be true or false; got ${show(root.naive)}`);
  }
  return root;
}

/** Whether a path is one that the root stands for, or lies below one. `false` for text that is no path. */
export function covers({ base, rest }: RootPattern, path: string): boolean {
  if (!isValidPath(path) || (path !== base && !isBelow(path, base))) return false;
  if (rest.length === 0) return true;
  const below = path.slice(base === "/" ? 1 : base.length + 1).split("/");
  return rest.every((segment, at) => (below[at] ?? "") !== "" && (segment === "*" || segment === below[at]));
}

/** Keeps the upper ones of overlapping paths: a watch on a lower one would repeat every event. */
export function withoutCovered(paths: readonly string[]): string[] {
  const distinct = [...new Set(paths)];
  return distinct.filter((path) => !distinct.some((other) => other !== path && isBelow(path, other)));
}

export function isBelow(path: string, root: string): boolean {
  return root === "/" || path.startsWith(`${root}/`);
}
