import type { EndReason, HoldAddress, KnownOwner } from "./messages.js";

/** A hold that has not ended. */
export interface OpenRecord {
  readonly address: HoldAddress;
  owner: KnownOwner | null;
  /** `null`: neither its grant nor it was ever seen. */
  readonly sinceMs: number | null;
  /** `sinceMs` is the time of the grant. */
  readonly exact: boolean;
  readonly waitedMs: number | null;
  /** Its grant was seen and is counted. */
  readonly granted: boolean;
}

const longestText = 512;

export function addressName({ cluster, key, entry }: Pick<HoldAddress, "cluster" | "key" | "entry">): string {
  return `${cluster}\0${key}\0${entry}`;
}

/** Names of a megabyte are not kept whole. */
export function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText - 1)}…`;
}

/** Ends that the holder has not brought about. */
export function isLoss(reason: EndReason): boolean {
  return reason === "expired" || reason === "session-ended" || reason === "forced";
}

/** Under which it is counted: what its people call it, else where it runs, else its session; `null` where none is known. */
export function ownerName({ label, host, pid, session }: KnownOwner): string | null {
  if (label !== null && label !== "") return label;
  if (host !== null && host !== "") return pid === null ? host : `${host} (${pid})`;
  return session;
}

/** As the store has it: session, label, host and pid. */
export function ownerText(owner: KnownOwner | null): string | null {
  if (owner === null) return null;
  const { session, label, host, pid } = owner;
  const part = (text: string | null): string | null => (text === null ? null : cut(text));
  return JSON.stringify([part(session), part(label), part(host), pid]);
}

export function ownerOfRow(row: Readonly<Record<string, unknown>>): KnownOwner | null {
  if (typeof row.owner !== "string") return null;
  const [session, label, host, pid] = JSON.parse(row.owner) as [
    string | null,
    string | null,
    string | null,
    number | null,
  ];
  return { session, label, host, pid, token: typeof row.token === "string" ? row.token : null };
}
