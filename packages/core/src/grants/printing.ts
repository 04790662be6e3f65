import { type InspectOptionsStylized, inspect } from "node:util";
import type { HoldInfo, LockSnapshot } from "../api/inspect.js";
import type { FencingToken } from "../api/values.js";

// How handles and snapshots look in logs. JSON has no bigint: there a token is a decimal string, as in everything that is sent.

/**
 * Makes `console.log` show the instances of a class by these fields, under a name that does not depend on how the package was
 * bundled. The class cannot have the method in its body, because isolated declarations allow no computed names.
 */
export function inspectBy<T extends object>(
  ofClass: { readonly prototype: T },
  shown: (instance: T) => { readonly name: string; readonly fields: object },
): void {
  Object.defineProperty(ofClass.prototype, inspect.custom, {
    value(this: T, depth: number, options: InspectOptionsStylized): string {
      const { name, fields } = shown(this);
      return inspectAs(name, fields, depth, options);
    },
  });
}

function inspectAs(name: string, fields: object, depth: number, options: InspectOptionsStylized): string {
  return depth < 0 ? options.stylize(`[${name}]`, "special") : `${name} ${inspect(fields, options)}`;
}

export function tokenJson(token: FencingToken | null | undefined): string | null {
  return token?.toString() ?? null;
}

/**
 * Makes `JSON.stringify` accept a snapshot, and makes `console.log` show all details of each holder. Adds no enumerable
 * properties. The caller must own the snapshot and its `held`, because both are changed.
 */
export function printable<S extends LockSnapshot>(snapshot: S): S {
  for (const hold of snapshot.held) Object.defineProperty(hold, "toJSON", { value: holdJson });
  return Object.defineProperty(snapshot, inspect.custom, { value: inspectSnapshot });
}

function holdJson(this: HoldInfo): object {
  return { ...this, token: tokenJson(this.token) };
}

/** How deep the age of a holder stands in a snapshot. `console.log` would leave it out. */
const wholeDepth = 4;

function inspectSnapshot(this: LockSnapshot, depth: number, options: InspectOptionsStylized): string {
  const whole = { ...options, depth: Math.max(options.depth ?? Infinity, wholeDepth) };
  return inspectAs("LockSnapshot", { ...this }, depth, whole);
}
