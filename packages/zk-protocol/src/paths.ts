import { InvalidPathError } from "./errors.js";

const slash = 0x2f;
const dot = 0x2e;

/** What kind of character a UTF-16 unit is that servers refuse; `undefined` for all other units. */
function forbidden(unit: number): string | undefined {
  if (unit <= 0x1f || (unit >= 0x7f && unit <= 0x9f)) {
    return "control character";
  }
  if (unit >= 0xd800 && unit <= 0xdfff) {
    return "character outside the basic plane";
  }
  if (unit >= 0xe000 && unit <= 0xf8ff) {
    return "private-use character";
  }
  if (unit >= 0xfff0) {
    return "special character";
  }
  return undefined;
}

function hex(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * Throws `InvalidPathError` unless a server would create a node with this path. It must begin with `/` and not end with
 * it. It must not have empty components, components `.` or `..`, control, private-use or special characters, or
 * characters beyond U+FFFF, such as emoji. These are the rules of `PathUtils` in ZooKeeper.
 *
 * Servers check reads less strictly. They check the path of a sequential create after the number was added: for `/queue/`
 * as such a path, validate `/queue/0`.
 */
export function validatePath(path: string): void {
  if (typeof path !== "string") {
    throw new InvalidPathError(String(path), 0, undefined, `a string is required, not ${typeof path}`);
  }
  if (path.charCodeAt(0) !== slash) {
    throw new InvalidPathError(path, 0, path[0], "it must start with /");
  }
  let componentAt = 1;
  for (let i = 1; i < path.length; i++) {
    const unit = path.charCodeAt(i);
    if (unit === slash) {
      checkComponent(path, componentAt, i);
      componentAt = i + 1;
      continue;
    }
    const kind = forbidden(unit);
    if (kind !== undefined) {
      const character = String.fromCodePoint(path.codePointAt(i) ?? unit);
      throw new InvalidPathError(path, i, character, `${kind} ${hex(character)}`);
    }
  }
  if (path.length > 1) {
    if (componentAt === path.length) {
      throw new InvalidPathError(path, path.length - 1, "/", "it must not end with /");
    }
    checkComponent(path, componentAt, path.length);
  }
}

/** Whether `validatePath` accepts the path. */
export function isValidPath(path: string): boolean {
  try {
    validatePath(path);
    return true;
  } catch (error) {
    if (error instanceof InvalidPathError) return false;
    throw error;
  }
}

function checkComponent(path: string, from: number, to: number): void {
  if (from === to) {
    throw new InvalidPathError(path, to, "/", "empty name between two /");
  }
  if (path.charCodeAt(from) !== dot) {
    return;
  }
  if (to - from === 1) {
    throw new InvalidPathError(path, from, ".", "relative name .");
  }
  if (to - from === 2 && path.charCodeAt(from + 1) === dot) {
    throw new InvalidPathError(path, from, ".", "relative name ..");
  }
}

/** `/a` and `b` make `/a/b`. Nothing is validated. */
export function joinPath(parent: string, name: string): string {
  return parent === "/" ? `/${name}` : `${parent}/${name}`;
}

/** `/a` of `/a/b`; `/` of `/a`, and of `/` itself. */
export function parentOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at <= 0 ? "/" : path.slice(0, at);
}

/** `b` of `/a/b`; empty for `/`. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
