import type { FieldsKind, RedisKind } from "../kinds/kind.js";
import { foundElse } from "../requests/foreign-key.js";
import type { Requests } from "../requests/requests.js";
import type { Inspected } from "./inspect.js";

/** Asks holders of ours to let go; `false` when there is none that can be asked. */
export async function requestRevoke(
  requests: Requests,
  { sides = ["write"], requestRevoke: ask }: RedisKind,
  of: Inspected,
): Promise<boolean> {
  let asked = false;
  for (const side of sides) {
    const { reply } = await requests.run(ask(of.keys, requests, side));
    if (reply.status === "conflict") throw foundElse(of.name, of.keys.key, reply.found, `a ${of.kind}`);
    asked = asked || reply.status === "asked";
  }
  return asked;
}

/** An operator frees it under its holder, and the holder gets a message; `false` when it was free. */
export async function forceRelease(
  requests: Requests,
  { sides = ["write"], force }: FieldsKind,
  of: Inspected,
): Promise<boolean> {
  for (const side of sides) {
    const { reply } = await requests.run(force(of.keys, requests, side));
    if (reply.status === "conflict") throw foundElse(of.name, of.keys.key, reply.found, `a ${of.kind}`);
    if (reply.status === "forced") return true;
  }
  return false;
}
