import {
  type AcquireOptions,
  InvalidArgumentError,
  type Millis,
  type MultiLockOptions,
  type Runtime,
  systemRuntime,
} from "@holdfast/core";
import {
  acquireKeys,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
  show,
  type ViewParts,
} from "@holdfast/core/internal";
import { locksIn, type Part, type Parts, sorted } from "./parts.js";

/** One acquire of the whole, with all options resolved. */
export interface MultiAsk {
  /** In the order of acquisition. */
  readonly parts: Parts;
  /** The caller's options for each part. Where the caller gives none, the part's own default counts. */
  readonly partOptions: AcquireOptions;
  readonly runtime: Runtime;
  readonly startedMs: Millis;
  readonly waitMs: Millis;
  readonly signal: AbortSignal | undefined;
  readonly onLoss: "reject" | "ignore";
}

const keys: ReadonlySet<string> = new Set([...acquireKeys.candidacy, "onLoss", "order"]);

/** `waitMs`: the wait where the caller gives none. Default: the shortest default of the parts. */
export function resolveAsk(
  what: string,
  given: Parts,
  options: MultiLockOptions | undefined,
  waitMs?: Millis,
): MultiAsk {
  const views = viewsIn(given);
  // Options of a lease are refused where no part would keep a lease.
  const lease = given.some(keepsLease) ? "ttl" : (views[0]?.defaults.lease ?? "ttl");
  const defaults = {
    ...nothingSaid,
    lease,
    waitMs: waitMs ?? Math.min(...views.map((view) => view.defaults.waitMs)),
    signal: defaultSignalOf(views),
  };
  const resolved = resolveAcquireOptions(what, options, defaults, keys);
  const { order = "sorted", leaseMs, renew, revocable, label } = options ?? {};
  if (order !== "sorted" && order !== "given") {
    throw new InvalidArgumentError(`${what}: order must be "sorted" or "given"; got ${show(order)}`);
  }
  const runtime = views[0]?.engine.runtime ?? systemRuntime;
  return {
    parts: order === "sorted" ? sorted(given) : given,
    partOptions: {
      ...(leaseMs === undefined ? {} : { leaseMs }),
      ...(renew === undefined ? {} : { renew }),
      ...(revocable === undefined ? {} : { revocable }),
      ...(label === undefined ? {} : { label }),
    },
    runtime,
    startedMs: runtime.nowMs(),
    waitMs: resolved.waitMs,
    signal: resolved.signal,
    onLoss: resolved.onLoss,
  };
}

/**
 * The options for one part. A part without leases does not get `leaseMs` and `renew`. Its hold is released when another
 * part's lease ends, because the loss of one part is the loss of the whole.
 */
export function optionsOf(part: Part, { partOptions }: MultiAsk): AcquireOptions {
  if (keepsLease(part)) return partOptions;
  const { leaseMs: _, renew: __, ...others } = partOptions;
  return others;
}

/**
 * Whether the part keeps a lease; for a multi-lock, whether any lock in it does. `true` for a lock that is not a view of
 * core's: such a lock checks its options itself.
 */
function keepsLease(part: Part): boolean {
  return locksIn(part).some(({ view }) => view === undefined || view.defaults.lease === "ttl");
}

/** The views of all locks that the parts take, also of those in multi-locks. */
function viewsIn(parts: Parts): readonly ViewParts[] {
  return parts.flatMap(locksIn).flatMap(({ view }) => view ?? []);
}

/** A signal that is aborted with the first of the views' default signals. */
function defaultSignalOf(views: readonly ViewParts[]): AbortSignal | undefined {
  const signals = views.flatMap(({ defaults }) => defaults.signal ?? []);
  if (signals.length === 0) return undefined;
  return [...new Set(signals)].reduce(eitherOf);
}

const eithers: WeakMap<AbortSignal, WeakMap<AbortSignal, AbortSignal>> = new WeakMap();

/**
 * Makes one signal for each pair: each `AbortSignal.any` leaves something behind at its signals, which may live as long as
 * the process.
 */
function eitherOf(one: AbortSignal, other: AbortSignal): AbortSignal {
  const ofOne = eithers.get(one) ?? new WeakMap<AbortSignal, AbortSignal>();
  const either = ofOne.get(other) ?? AbortSignal.any([one, other]);
  eithers.set(one, ofOne.set(other, either));
  return either;
}

const nothingSaid: Omit<ResolvedAcquireOptions, "lease" | "waitMs" | "signal"> = {
  leaseMs: 30_000,
  renew: true,
  revocable: false,
  label: null,
  onLoss: "reject",
  owner: undefined,
  holdAtLeastMs: 0,
  fresh: false,
  keepMs: 0,
  fenceBy: "token",
};
