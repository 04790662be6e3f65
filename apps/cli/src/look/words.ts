import type {
  Finding,
  Moment,
  ObservedLibrary,
  ObservedLock,
  ObservedLockDetail,
  ObservedParticipant,
} from "@holdfast/collectors";
import { duration, shortId, visible } from "@holdfast/collectors/internal";

/** A count with its noun, such as `1 lock` or `2 locks`. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** The kind of the lock, or "unknown kind". */
export function kindOf({ kind }: Pick<ObservedLock, "kind">): string {
  return kind === null ? "unknown kind" : kind.replaceAll("-", " ");
}

/** A lock without holder and waiter is called `free`, as users call it. */
export function stateOf({ state, denied }: Pick<ObservedLock, "state" | "denied">): string {
  if (denied !== null) return "not readable";
  return state === "idle" ? "free" : state;
}

export const libraryNames: Readonly<Record<ObservedLibrary, string>> = {
  holdfast: "holdfast",
  curator: "Curator",
  "curator-or-holdfast": "Curator or holdfast",
  kazoo: "kazoo",
  redisson: "Redisson",
  unknown: "unknown library",
};

export const leaseWords: Readonly<Record<ObservedParticipant["lease"], string>> = {
  session: "as long as its session lives",
  renewing: "a lease that is renewed",
  fixed: "a lease that is not renewed: it ends by itself",
  "not-renewing": "a lease that used to be renewed, and was not in time",
  "never-expires": "no lease: it stays held when its holder dies",
  unknown: "not known: the backend does not keep it",
};

/** How many clients wait, in the unit that can be observed. */
export function waitersOf({
  waiterCount,
  waiterUnit,
}: Pick<ObservedLock, "waiterCount" | "waiterUnit">): string {
  if (waiterUnit === "hidden") return "hidden";
  return waiterUnit === "connections" && waiterCount > 0 ? `≥ ${waiterCount}` : String(waiterCount);
}

/** Explains the number or list of waiters; `null` if the number needs no explanation. */
export function aboutWaiters({
  waiterCount,
  waiterUnit,
}: Pick<ObservedLock, "waiterCount" | "waiterUnit">): string | null {
  if (waiterUnit === "hidden") return "who waits on this kind of lock cannot be seen from outside";
  if (waiterUnit !== "connections" || waiterCount === 0) return null;
  return `${many(waiterCount, "connection")} listen on its channel; each is one waiter or more, and who they are is not in the backend`;
}

/** Names a participant in few characters, for a column. `whoIs` says more. */
export function whoIsShort(one: ObservedParticipant): string {
  const { identity, address, data, actor, entry } = one;
  const process =
    identity?.host == null ? null : `${identity.host}${identity.pid === null ? "" : `:${identity.pid}`}`;
  const known = [identity?.label, process, address, identity === null ? data : null];
  return visible(known.find((each) => each != null && each !== "") ?? shortId(actor ?? entry));
}

/** The holders of a lock, in a column: the first, and how many more there are. */
export function holdersOf(
  { kind, holders, holderCount, state, denied, limit }: ObservedLock,
  named: (one: ObservedParticipant) => string = whoIsShort,
): string {
  const [first] = holders;
  const ofLimit = limit === null ? "" : ` of ${limit}`;
  if (denied !== null) return "not readable";
  // A permit on Redis has an id that says nothing about its holder.
  if (kind === "permit-semaphore" && holderCount > 0) return `${holderCount}${ofLimit} permits`;
  if (first === undefined) return state === "idle" ? "-" : "not known";
  return `${named(first)}${holderCount > 1 ? ` +${holderCount - 1}` : ""}${ofLimit}`;
}

/**
 * The least and the most time for which something has been so, in milliseconds; `null` where there is no such bound.
 */
export interface Age {
  readonly leastMs: number | null;
  readonly mostMs: number | null;
}

/**
 * The age of a moment. A command has only just begun to look, so "at least since it was first seen" says nothing: that
 * counts as not known.
 * `bornMs` is the time at which the entry was made, in epoch ms; nothing about the entry can be older. `null`: not
 * known.
 */
export function ageOf(
  { atMs, provenance }: Moment,
  nowMs: number,
  beganMs: number,
  bornMs: number | null = null,
): Age {
  const sinceMs =
    atMs === null || (provenance === "at-least" && atMs >= beganMs) ? null : Math.max(0, nowMs - atMs);
  if (provenance === "exact") return { leastMs: sinceMs, mostMs: sinceMs };
  return { leastMs: sinceMs, mostMs: bornMs === null ? null : Math.max(0, nowMs - bornMs) };
}

/** `41 s`; `≥ 1 min 10 s` for at least so long; `≤ 2 min` for at most so long; or `unknown`. */
export function ageText({ leastMs, mostMs }: Age): string {
  if (leastMs !== null && leastMs === mostMs) return duration(leastMs);
  if (leastMs !== null) return `≥ ${duration(leastMs)}`;
  return mostMs === null ? "unknown" : `≤ ${duration(mostMs)}`;
}

/**
 * When the entry of a participant was made at ZooKeeper, in epoch ms. A holder's node was made when its owner asked for
 * the lock, not when the lock was granted. `null` on Redis, and if the node was not read.
 */
export function bornMs({ raw, key }: ObservedLockDetail, { entry }: ObservedParticipant): number | null {
  const node = raw.find(({ name }) => name.startsWith(key) && name.endsWith(`/${entry}`));
  const ctime = /\bctime=(\d+)/.exec(node?.value ?? "")?.[1];
  return ctime === undefined ? null : Number(ctime);
}

/** A time of the day as `14:22:10.004`, in local time. */
export function timeOfDay(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export const severityOrder: Readonly<Record<Finding["severity"], number>> = {
  critical: 0,
  warning: 1,
  info: 2,
};

/** The kind of a finding as text, such as `stuck with waiters`. */
export function findingOf({ kind }: Finding): string {
  return kind.replaceAll("-", " ");
}
