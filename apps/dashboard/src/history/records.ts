import type { EndReason, HoldAddress, KnownOwner } from "./messages.js";

/** What is known of a hold that has not ended, except its address. */
export interface OpenFacts {
  owner: KnownOwner | null;
  /** `null` if neither its grant nor the hold itself was ever seen. */
  readonly sinceMs: number | null;
  /** Whether `sinceMs` is the time of the grant. */
  readonly exact: boolean;
  readonly waitedMs: number | null;
  /** Whether its grant was seen, and so is counted. */
  readonly granted: boolean;
}

/** A hold that has not ended. */
export class OpenRecord implements OpenFacts {
  readonly address: HoldAddress;
  owner: KnownOwner | null;
  readonly sinceMs: number | null;
  readonly exact: boolean;
  readonly waitedMs: number | null;
  readonly granted: boolean;

  constructor(address: HoldAddress, { owner, sinceMs, exact, waitedMs, granted }: OpenFacts) {
    const { cluster, backend, key, entry } = address;
    this.address = { cluster, backend, key, entry };
    this.owner = owner;
    this.sinceMs = sinceMs;
    this.exact = exact;
    this.waitedMs = waitedMs;
    this.granted = granted;
  }

  get name(): string {
    return addressName(this.address);
  }
}

const longestText = 512;

/**
 * Names a hold by its texts as the file has them, so that it is found again after a restart. None of them contains a
 * zero.
 */
export function addressName({ cluster, key, entry }: Pick<HoldAddress, "cluster" | "key" | "entry">): string {
  return `${cluster}\0${cut(key)}\0${cut(entry)}`;
}

export function addressNamed(name: string): Pick<HoldAddress, "cluster" | "key" | "entry"> {
  const [cluster = "", key = "", entry = ""] = name.split("\0");
  return { cluster, key, entry };
}

/** Halves of characters, and zeros. */
const unstorable = /[\0\ud800-\udfff]/;

/**
 * A text as the store has it. Names of a megabyte are not kept whole. Half a character, which a cut or a hostile name
 * may leave, is replaced, because reading it back would end the process within SQLite's package. A zero would end the
 * text.
 */
export function cut(text: string): string {
  const short = text.length <= longestText ? text : `${text.slice(0, longestText - 1)}…`;
  if (!unstorable.test(short)) return short;
  return Buffer.from(short).toString().replaceAll("\0", "\u2400");
}

export const noOwner: KnownOwner = { session: null, label: null, host: null, pid: null, token: null };

/** Whether the hold ended without an act of its holder. */
export function isLoss(reason: EndReason): boolean {
  return reason === "expired" || reason === "session-ended" || reason === "forced";
}

/**
 * The name under which an owner is counted: its label, else where it runs, else its session; `null` if none of them is
 * known.
 */
export function ownerName({ label, host, pid, session }: KnownOwner): string | null {
  if (label !== null && label !== "") return label;
  if (host !== null && host !== "") return pid === null ? host : `${host} (${pid})`;
  return session;
}

/** An owner as the store has it: session, label, host and pid. */
export function ownerText(owner: KnownOwner | null): string | null {
  if (owner === null) return null;
  const { session, label, host, pid } = owner;
  const part = (text: string | null): string | null => (text === null ? null : cut(text));
  return JSON.stringify([part(session), part(label), part(host), pid]);
}

export function tokenText(owner: KnownOwner | null): string | null {
  const token = owner?.token ?? null;
  return token === null ? null : cut(token);
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
