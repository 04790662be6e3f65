import { InvalidArgumentError } from "@holdfast/core";
import { validateLockName } from "@holdfast/core/internal";
import { InvalidPathError, parentOf, validatePath } from "@holdfast/zk-protocol";

export interface PathOptions {
  /** The path from the connect string, which must exist at the server. `""` for none. */
  readonly chroot: string;
  /** Curator's `namespace`: one more level below the chroot, made when it is first needed. `""` for none. */
  readonly namespace: string;
  /** The path below which relative names are placed. */
  readonly root: string;
}

/** Turns names of locks into paths of the server. */
export class LockPaths {
  readonly chroot: string;
  readonly #base: string;
  readonly #root: string;

  constructor(options: PathOptions) {
    this.chroot = options.chroot;
    const namespace = options.namespace.replace(/^\//, "");
    if (namespace !== "") checkPath(`/${namespace}`, "option namespace");
    checkPath(options.root, "option root");
    this.#base = namespace === "" ? options.chroot : `${options.chroot}/${namespace}`;
    this.#root = options.root === "/" ? "" : options.root;
  }

  /**
   * The server's path for a lock name. An absolute name is taken as it is, below chroot and namespace. A relative name is
   * one segment below `root`, so relative names never nest. Two names have the same path only if an absolute name spells
   * out the path of a relative one.
   */
  pathOf(name: string): string {
    validateLockName(name);
    if (!name.startsWith("/")) return `${this.#base}${this.#root}/${encodeSegment(name)}`;
    if (name === "/") throw new InvalidArgumentError(`lock name "/" is the root; name a path below it`);
    checkPath(name, "lock name");
    return this.#base + name;
  }

  /** The levels that may have to be made for `path`, itself included, top down. All are below the chroot. */
  levelsOf(path: string): string[] {
    const levels: string[] = [];
    for (let level = path; level.length > this.chroot.length && level !== "/"; level = parentOf(level)) {
      levels.unshift(level);
    }
    return levels;
  }
}

function checkPath(path: string, what: string): void {
  try {
    validatePath(path);
  } catch (error) {
    if (!(error instanceof InvalidPathError)) throw error;
    throw new InvalidArgumentError(`${what} ${JSON.stringify(path)}: ${error.message}`, { cause: error });
  }
}

/** A name in which nothing has to be encoded, as in most. */
const plainName = /^[\w-][\w.-]*$/;

/**
 * Percent-encodes the characters that must not be in one path segment: the slash, the percent sign, leading dots, and all
 * characters that ZooKeeper refuses in a path (control characters, private use, U+FFF0 and up).
 */
export function encodeSegment(name: string): string {
  if (plainName.test(name)) return name;
  let encoded = "";
  let leading = true;
  for (const char of name) {
    leading &&= char === ".";
    encoded += leading || mustEncode(char) ? percent(char) : char;
  }
  return encoded;
}

function mustEncode(char: string): boolean {
  const code = char.codePointAt(0) as number;
  return (
    char === "/" ||
    char === "%" ||
    code <= 0x1f ||
    (code >= 0x7f && code <= 0x9f) ||
    (code >= 0xe000 && code <= 0xf8ff) ||
    code >= 0xfff0
  );
}

function percent(char: string): string {
  return [...Buffer.from(char, "utf8")]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
