import type { FieldsKind, RedisKind } from "../kinds/kind.js";
import { foundElse } from "../requests/foreign-key.js";
import type { Requests } from "../requests/requests.js";
import type { Inspected } from "./inspect.js";

/** Asks our holders to release. `false` when there is no holder that can be asked. */
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

/** Frees the lock by an operator's order although it is held, and its holder gets a message. `false` when it was free. */
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
