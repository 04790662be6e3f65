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
import { type Part, type Parts, sorted } from "./parts.js";

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
  const resolved = resolveAcquireOptions(what, options, { ...nothingSaid, lease, waitMs }, keys);
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

const nothingSaid: Omit<ResolvedAcquireOptions, "lease"> = {
  waitMs: Infinity,
  signal: undefined,
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
