import { LayoutConflictError, type PrimitiveKind } from "@holdfast/core";
import type { Inspected } from "./inspect.js";
import type { FieldsKind, RedisKind } from "./kinds/kind.js";
import type { Requests } from "./requests.js";

/** Asks holders of ours to let go; `false` when there is none that could be told. */
export async function askToRelease(
  requests: Requests,
  { sides, ask }: RedisKind,
  of: Inspected,
): Promise<boolean> {
  let asked = false;
  for (const side of sides) {
    const { reply } = await requests.run(ask(of.keys, requests, side));
    if (reply.status === "conflict") throw conflictError(of, reply.found);
    asked = asked || reply.status === "asked";
  }
  return asked;
}

/** An operator frees it under its holder, who is told; `false` when it was free. */
export async function forceRelease(
  requests: Requests,
  { sides, force }: FieldsKind,
  of: Inspected,
): Promise<boolean> {
  for (const side of sides) {
    const { reply } = await requests.run(force(of.keys, requests, side));
    if (reply.status === "conflict") throw conflictError(of, reply.found);
    if (reply.status === "forced") return true;
  }
  return false;
}

function conflictError(
  { name, kind }: { name: string; kind: PrimitiveKind },
  found: string,
): LayoutConflictError {
  return new LayoutConflictError(`"${name}" is no ${kind}: its key holds a ${found}`, {
    lockName: name,
    backend: "redis",
  });
}
