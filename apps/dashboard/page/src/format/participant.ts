import type { Participant } from "../../../src/contract/api.js";

export interface Name {
  /** The best name that is known of it. */
  readonly main: string;
  /** What else is known, in the order in which an operator asks for it. */
  readonly more: readonly string[];
}

/** The name of a participant: its label, else its host, else its address, else what it wrote, else its actor, else its entry. */
export function nameOf(participant: Participant): Name {
  const { identity, address, data, actor, entry } = participant;
  const known = [
    identity?.label ?? null,
    identity?.label == null ? (identity?.host ?? null) : null,
    address,
    identity?.host ?? null,
    identity?.pid == null ? null : `pid ${identity.pid}`,
    // If there is an identity, it was read from the data, so the data adds nothing.
    identity === null ? data : null,
    actor === null ? null : short(actor),
  ].filter((each): each is string => each !== null && each !== "");
  // `10.2.3.4` beside `10.2.3.4:51234` adds nothing.
  const distinct = known.filter(
    (each, at) =>
      !known.some(
        (other, where) => where !== at && (other === each ? where < at : other.startsWith(`${each}:`)),
      ),
  );
  const [main, ...more] = distinct.length === 0 ? [entry] : distinct;
  return { main: main ?? entry, more };
}

/** A uuid shortened to its beginning, with what follows it unchanged: `3f2c91ab…:57`. Any other text is unchanged. */
export function short(id: string): string {
  return id.replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "$1…");
}

/** A long key shortened to its beginning and its end, because these distinguish keys. */
export function middle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const head = Math.ceil((longest - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (longest - 1 - head))}`;
}
