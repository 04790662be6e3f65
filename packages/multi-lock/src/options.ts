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
} from "@holdfast/core/internal";
import { locksIn, type Part, type Parts, sorted } from "./parts.js";

/** One acquire of the whole, with nothing left open. */
export interface MultiAsk {
  /** In the order of acquisition. */
  readonly parts: Parts;
  /** What the caller says of each part; what it does not say is the part's own default. */
  readonly partOptions: AcquireOptions;
  readonly runtime: Runtime;
  readonly startedMs: Millis;
  readonly waitMs: Millis;
  readonly signal: AbortSignal | undefined;
  readonly onLoss: "reject" | "ignore";
}

const keys: ReadonlySet<string> = new Set([...acquireKeys.candidacy, "onLoss", "order"]);

/** `waitMs`: where the caller gives none. Default: the shortest that a part would wait by itself. */
export function resolveAsk(
  what: string,
  given: Parts,
  options: MultiLockOptions | undefined,
  waitMs: Millis = Math.min(...given.map(({ view }) => view?.defaults.waitMs ?? Infinity)),
): MultiAsk {
  // Refused where no part would keep a lease.
  const lease = given.some(keepsLease) ? "ttl" : (given[0]?.view?.defaults.lease ?? "ttl");
  const signal = defaultSignalOf(given);
  const resolved = resolveAcquireOptions(what, options, { ...nothingSaid, lease, waitMs, signal }, keys);
  const { order = "sorted", leaseMs, renew, revocable, label } = options ?? {};
  if (order !== "sorted" && order !== "given") {
    throw new InvalidArgumentError(`${what}: order must be "sorted" or "given"; got ${show(order)}`);
  }
  const runtime = given.find(({ view }) => view !== undefined)?.view?.engine.runtime ?? systemRuntime;
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
 * What one part is asked with. A part without leases does not get `leaseMs` and `renew`: its hold is released when another part's lease
 * ends, since the loss of one is the loss of the whole.
 */
export function optionsOf(part: Part, { partOptions }: MultiAsk): AcquireOptions {
  if (keepsLease(part)) return partOptions;
  const { leaseMs: _, renew: __, ...others } = partOptions;
  return others;
}

/** `true` for a lock that is not a view of core's, and for a multi-lock: they check their options themselves. */
function keepsLease({ view }: Part): boolean {
  return view === undefined || view.defaults.lease === "ttl";
}

/** The first abort of a signal that a view of the parts has, also of one in a multi-lock that is a part. */
function defaultSignalOf(parts: Parts): AbortSignal | undefined {
  const signals = parts.flatMap(locksIn).flatMap(({ view }) => view?.defaults.signal ?? []);
  if (signals.length === 0) return undefined;
  return [...new Set(signals)].reduce(eitherOf);
}

const eithers: WeakMap<AbortSignal, WeakMap<AbortSignal, AbortSignal>> = new WeakMap();

/** Is made once for each two: each `AbortSignal.any` leaves something behind at its signals, which may live as long as the process. */
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
