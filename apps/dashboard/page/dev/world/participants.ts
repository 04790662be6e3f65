import type { Participant } from "../../../src/contract/api.js";
import { atLeast, exact } from "./moments.js";

/** Gives sequence numbers and tokens, each of them only once. */
export class Numbers {
  #last = 1000;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** A name that an attacker might choose. */
export const hostile = "<img src=x onerror=alert(1)>";
const hosts = ["pay", "stock", "billing", "search", "mailer"];
const uuid = (n: number): string =>
  `3f2c91${(n % 256).toString(16).padStart(2, "0")}-77aa-4b1e-9d0c-${String(n).padStart(12, "0")}`;

export function zookeeperParticipant(
  numbers: Numbers,
  n: number,
  nowMs: number,
  position: number | null,
): Participant {
  const serial = numbers.next();
  const named = n % 3 !== 0;
  const kazoo = n % 7 === 5;
  const host = hosts[n % hosts.length] ?? "pay";
  const session = `0x1000${(n % 23).toString(16).padStart(2, "0")}4f3a0000`;
  return {
    entry: kazoo
      ? `${uuid(n).replaceAll("-", "")}__lock__${String(serial).padStart(10, "0")}`
      : `_c_${uuid(n)}-lock-${String(serial).padStart(10, "0")}`,
    actor: session,
    session,
    identity: named
      ? { label: `${host}-${n % 9}`, host: `${host}-${n % 9}.prod.internal`, pid: 800 + (n % 97) }
      : null,
    mayBeKept: false,
    address: `10.2.3.${n % 200}:${51_000 + (n % 999)}`,
    data: n % 11 === 3 ? hostile : `10.2.3.${n % 200}`,
    mode: "exclusive",
    permits: 1,
    position,
    since: exact(nowMs - ((n * 3917) % 90_000)),
    holdCount: null,
    remainingMs: null,
    lease: "session",
    deadlineMs: null,
    token: position === null ? `0x5000${(serial * 17).toString(16)}` : null,
    library: kazoo ? "kazoo" : named ? "holdfast" : "curator",
  };
}

export function redisParticipant(
  numbers: Numbers,
  n: number,
  nowMs: number,
  position: number | null,
): Participant {
  const serial = numbers.next();
  const lease =
    n % 13 === 4 ? "not-renewing" : n % 17 === 2 ? "never-expires" : n % 5 === 0 ? "fixed" : "renewing";
  return {
    entry: `${uuid(n)}:${n % 80}`,
    actor: `${uuid(n)}:${n % 80}`,
    session: uuid(n % 30),
    identity: n % 4 === 0 ? { label: `order-${n % 6}`, host: `order-${n % 6}`, pid: 4000 + n } : null,
    mayBeKept: false,
    address: null,
    data: null,
    mode: "exclusive",
    permits: 1,
    position,
    since: n % 4 === 0 ? exact(nowMs - ((n * 977) % 60_000)) : atLeast(nowMs - ((n * 7717) % 600_000)),
    holdCount: 1 + (n % 2),
    remainingMs: lease === "never-expires" ? null : 30_000 - ((n * 331) % 20_000),
    lease,
    deadlineMs: position !== null ? nowMs + 20_000 + n * 100 : null,
    token: n % 4 === 0 ? String(1_795_212_000_000_000 + serial) : null,
    library: n % 4 === 0 ? "holdfast" : "redisson",
  };
}
