import { errorName } from "./error-codes.js";
import type { OpName } from "./operations.js";

/** A server's answer other than Ok. */
export class ZooKeeperError extends Error {
  override readonly name = "ZooKeeperError";
  /** The code on the wire, see `errorCodes`. A code that this package does not know is kept as it is. */
  readonly code: number;
  /** The name of the code, such as `NoNode`; `Unknown(-999)` for a code outside the table. */
  readonly codeName: string;
  readonly op: OpName | undefined;
  readonly path: string | undefined;

  constructor(code: number, context: { readonly op?: OpName; readonly path?: string } = {}) {
    const codeName = errorName(code);
    const request = context.op === undefined ? "" : ` to ${context.op}`;
    const path = context.path === undefined ? "" : ` of ${JSON.stringify(context.path)}`;
    super(`ZooKeeper answered ${codeName} (${code})${request}${path}`);
    this.code = code;
    this.codeName = codeName;
    this.op = context.op;
    this.path = context.path;
  }
}

/** A node path that no ZooKeeper server would create. */
export class InvalidPathError extends Error {
  override readonly name = "InvalidPathError";
  readonly path: string;
  /** Index of the wrong character in `path`, in UTF-16 units, as `path[position]` counts. */
  readonly position: number;
  /** The wrong character; `undefined` if a character is missing. */
  readonly character: string | undefined;
  readonly reason: string;

  constructor(path: string, position: number, character: string | undefined, reason: string) {
    super(`${JSON.stringify(path)} is not a ZooKeeper path: ${reason} (position ${position})`);
    this.path = path;
    this.position = position;
    this.character = character;
    this.reason = reason;
  }
}
