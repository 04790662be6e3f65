import type { LockRow, Participant } from "../../../src/contract/api.js";
import { exact, unknown } from "./moments.js";
import { hostile, type Numbers, redisParticipant, zookeeperParticipant } from "./participants.js";

/** The lock of this number, and its waiters. */
export function makeLock(
  numbers: Numbers,
  n: number,
  nowMs: number,
): { row: LockRow; waiters: Participant[] } {
  const redis = n % 3 === 1;
  const semaphore = n % 10 === 8;
  const idle = n % 12 === 11;
  const waiting = idle || n > 60 ? 0 : n === 0 ? 61 : n < 25 ? (n * 5) % 13 : 0;
  const make = (k: number, position: number | null) =>
    redis
      ? redisParticipant(numbers, n * 31 + k, nowMs, position)
      : zookeeperParticipant(numbers, n * 31 + k, nowMs, position);
  const holders = idle ? [] : Array.from({ length: semaphore ? 3 : 1 }, (_, k) => make(k, null));
  const hidden = redis && n % 4 !== 0;
  const waiters = hidden ? [] : Array.from({ length: waiting }, (_, k) => make(k + 10, k));
  const key = redis
    ? `order:{${4200 + n}}`
    : n === 6
      ? `/locks/${hostile}`
      : n === 9
        ? `/locks/${"very-long-segment-".repeat(12)}end`
        : `/locks/${["settle-eu", "ledger", "stock/berlin", "nightly/report"][n % 4]}-${n}`;
  const cluster = redis ? "cache-eu" : "prod-eu";
  const row: LockRow = {
    id: Buffer.from(`${cluster}\n${redis ? "redis" : "zookeeper"}\n${key}`).toString("base64url"),
    cluster,
    backend: redis ? "redis" : "zookeeper",
    key,
    kind: semaphore
      ? "semaphore"
      : redis
        ? n % 4 === 0
          ? "fair-mutex"
          : "reentrant-mutex"
        : n % 9 === 7
          ? "read-write-lock"
          : n % 14 === 12
            ? null
            : "reentrant-mutex",
    libraries: [...new Set([...holders, ...waiters].map(({ library }) => library))],
    state: idle ? "idle" : waiting > 0 ? "contended" : "held",
    holders: holders.slice(0, 3),
    holderCount: semaphore ? 7 : holders.length,
    waiterCount: waiting,
    waiterUnit: hidden ? (n % 8 === 5 ? "hidden" : "connections") : "participants",
    oldestWait: waiting === 0 ? unknown : hidden ? unknown : exact(nowMs - waiting * 900),
    oldestHold: holders[0]?.since ?? unknown,
    token: holders[0]?.token ?? null,
    limit: semaphore ? 10 : null,
    version: holders.map(({ entry }) => entry).join(" "),
    readMs: nowMs,
    denied:
      n === 14
        ? "NoAuth: the ACL of /locks/stock gives the dashboard no read; setAcl /locks/stock auth:dashboard:r"
        : null,
  };
  if (row.denied !== null) Object.assign(row, { holders: [], holderCount: 0, state: "held" });
  return { row, waiters };
}
