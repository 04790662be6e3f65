import { Reply } from "../script.js";

export interface HolderPicture {
  readonly owner: string;
  readonly mode: "exclusive" | "shared";
  /** How often the holder has entered. It is above 1 only for Redisson's holders, since our re-entry is local. */
  readonly count: number;
  /** PTTL of this hold: -1 when it never expires, below that when it is over. */
  readonly pttlMs: number;
  /** What the holder says of itself; `""` for nothing. */
  readonly label: string;
}

export interface WaiterPicture {
  readonly owner: string;
  /** The lease that it wants; -1 where that is not on the wire. */
  readonly leaseMs: number;
  /** How long it still counts as alive without another request; 0 when dead, -1 where the layout does not say. */
  readonly aliveLeftMs: number;
  /** Fair queue: the time until any client may sweep it; -1 where there is no deadline. */
  readonly deadlineLeftMs: number;
  readonly label: string;
}

/** What a lock's keys show. By the time it is read it may be out of date. */
export interface LockPicture {
  readonly serverMs: number;
  /** `free`, `held`, or what is there instead of such a lock. */
  readonly found: string;
  /** PTTL of the hash; -2 when there is none. */
  readonly pttlMs: number;
  /** `null` where no token is kept. */
  readonly token: bigint | null;
  readonly holders: readonly HolderPicture[];
  /** The first waiters, in order. */
  readonly waiting: readonly WaiterPicture[];
  readonly waitingTotal: number;
}

export function readPicture(script: string, raw: unknown): LockPicture {
  const reply = new Reply(script, raw);
  const serverMs = reply.serverMs();
  const found = reply.text();
  const pttlMs = reply.integer();
  const token = reply.text();
  const holders = reply.list().map((each): HolderPicture => {
    const part = new Reply(script, each);
    const owner = part.text();
    const mode = part.text() === "shared" ? "shared" : "exclusive";
    return part.end({ owner, mode, count: part.integer(), pttlMs: part.integer(), label: part.text() });
  });
  const waiting = reply.list().map((each): WaiterPicture => {
    const part = new Reply(script, each);
    return part.end({
      owner: part.text(),
      leaseMs: part.integer(),
      aliveLeftMs: part.integer(),
      deadlineLeftMs: part.integer(),
      label: part.text(),
    });
  });
  return reply.end({
    serverMs,
    found,
    pttlMs,
    token: /^\d+$/.test(token) ? BigInt(token) : null,
    holders,
    waiting,
    waitingTotal: reply.integer(),
  });
}

/**
 * `tokenText(key)`, `leftOf(zset, member)` and `labelOf(key, owner)` for the scripts that only look. None of them writes, so
 * replicas can answer.
 */
export const looking = `
local function tokenText(key)
  local value = redis.pcall('GET', key)
  return type(value) == 'string' and value or ''
end
local function leftOf(key, member)
  local score = redis.call('ZSCORE', key, member)
  return score and math.max(0, tonumber(score) - nowMs) or -1
end
local function labelOf(key, owner)
  return key and redis.call('HGET', key, owner) or ''
end
`;
