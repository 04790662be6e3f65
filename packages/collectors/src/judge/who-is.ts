import type { ObservedParticipant } from "../observe/observed-lock.js";
import { visible } from "./shown-name.js";

/**
 * Names a participant for use in a sentence: `billing-api (pay-7 pid 16747)`, `10.2.3.9 (0x1f)`, `3f2c91ab…:57`. The name is
 * what its client says of itself. Where the client says nothing, it is its address, its data and its id in the backend,
 * because several clients of one host share an address.
 */
export function whoIs(
  one: Pick<ObservedParticipant, "identity" | "address" | "data" | "actor" | "entry">,
): string {
  const { identity, address, data, actor, entry } = one;
  const host = identity?.host === identity?.label ? null : identity?.host;
  const pid = identity?.pid == null ? null : `pid ${identity.pid}`;
  const known = [
    identity?.label,
    [host, pid].filter((each) => each != null).join(" "),
    identity?.host == null ? address : null,
    // An identity was read from the data, so the data is left out beside it.
    ...(identity === null ? [data, shortId(actor ?? entry)] : []),
  ].filter((each): each is string => each != null && each !== "");
  const [main = shortId(actor ?? entry), ...more] = new Set(known.map(visible));
  return more.length === 0 ? main : `${main} (${more.join(", ")})`;
}

/** Shortens a uuid to its beginning and keeps what follows it: `3f2c91ab…:57`. Anything else stays unchanged. */
export function shortId(id: string): string {
  return visible(id).replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "$1…");
}
