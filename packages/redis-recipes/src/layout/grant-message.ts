/**
 * A message on a provider's grant channel: JSON, with important numbers as decimal text. Each message is only a hint, and may be
 * out of date.
 */
export type GrantMessage =
  /** The lock was handed over to this owner, with the claim lease. See `expiresServerMs` for its end. */
  | (Named & {
      readonly type: "granted";
      readonly token: bigint;
      readonly pttlMs: number;
      /** Server time at the hand-over, ms with fractions. */
      readonly serverMs: number;
      /** Run id of the server that made the grant; `""` where the script may not read it. Then the grant has to be confirmed. */
      readonly runId: string;
    })
  /** The lock was freed and this wait is first, so that it should send one heartbeat now. */
  | (Named & { readonly type: "nudge" })
  /** An operator ended this holder's hold. */
  | (Named & { readonly type: "stolen" })
  /** A client asks this holder to release. */
  | (Named & { readonly type: "revoke" })
  /** Another client wants the lock, which this holder may keep only for the next owner of its provider. */
  | (Named & { readonly type: "wanted" });

interface Named {
  /** The lock's key. */
  readonly key: string;
  readonly owner: string;
}

const plain = new Set(["nudge", "stolen", "revoke", "wanted"]);

/** `null` for anything else, since every client that may publish can send anything on a channel. */
export function parseGrantMessage(text: string): GrantMessage | null {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { type, key, owner, token, pttl, at, run } = value;
  if (typeof type !== "string" || typeof key !== "string" || typeof owner !== "string") return null;
  if (plain.has(type)) return { type: type as "nudge", key, owner };
  if (type !== "granted" || typeof run !== "string") return null;
  if (![token, pttl, at].every((part) => typeof part === "string" && /^\d{1,16}$/.test(part))) return null;
  return {
    type,
    key,
    owner,
    token: BigInt(token as string),
    pttlMs: Number(pttl),
    serverMs: Number(at) / 1000,
    runId: run,
  };
}

/**
 * When the server ends a hold, by the server's clock. Redis keeps whole milliseconds, and a TTL counts from the whole millisecond
 * in which it was read.
 */
export function expiresServerMs(answer: { readonly serverMs: number; readonly pttlMs: number }): number {
  return Math.floor(answer.serverMs) + answer.pttlMs;
}

/** The message that makes its receiver a holder. */
export type HandOver = GrantMessage & { readonly type: "granted" };
