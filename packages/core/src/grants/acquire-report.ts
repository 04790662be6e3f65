import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { Capabilities } from "../api/capabilities.js";
import type { FencingToken, Millis, Owner } from "../api/values.js";
import type { EventDetail } from "../events/event-hub.js";
import { outsideScopes } from "../scope-store.js";
import type { AcquireSpec, AcquireSpecs } from "./acquire-spec.js";
import type { GrantEngine } from "./engine.js";

// What one acquire reports about each lock that it asks for: events for code, traces for tools. Without a
// listener nothing is built.

/** What subscribers of `tracing:holdfast:acquire:*` get: one object for all messages of one acquire. */
interface AcquireTrace extends Pick<AcquireSpec, "kind" | "name" | "mode" | "owner"> {
  readonly provider: string;
  readonly backend: Capabilities["backend"];
  outcome?: Outcome;
  waitedMs?: Millis;
  token?: FencingToken | null;
  error?: unknown;
}

const channels: TracingChannel<AcquireTrace> = tracingChannel("holdfast:acquire");

type Base = Pick<AcquireSpec, "kind" | "name"> & { readonly owner: Owner };
type WaitEvent = "notified" | "requeued" | "sequence-high";

export type SettledDetail = Omit<EventDetail<"acquire-settled">, keyof Base | "mode">;
export type Outcome = SettledDetail["outcome"];

/** One trace for each lock; `undefined` when no tool listened when the acquire began. */
export type Traces = readonly AcquireTrace[] | undefined;

export function tracesOf({ id, backend }: GrantEngine, specs: AcquireSpecs): Traces {
  if (!channels.hasSubscribers) return undefined;
  return specs.map((spec) => ({ provider: id, backend, ...baseOf(spec), mode: spec.mode }));
}

export function reportStarted({ events }: GrantEngine, spec: AcquireSpec, trace?: AcquireTrace): void {
  if (events.has("acquire-started")) events.emit("acquire-started", { ...baseOf(spec), mode: spec.mode });
  if (trace !== undefined) outsideScopes(() => channels.start.publish(trace));
}

/** The synchronous part is over: the request is on its way. */
export function traceEnd(trace: AcquireTrace): void {
  outsideScopes(() => channels.end.publish(trace));
}

export function reportWhileWaiting<K extends WaitEvent>(
  { events }: GrantEngine,
  specs: AcquireSpecs,
  type: K,
  detail: Omit<EventDetail<K>, keyof Base>,
): void {
  if (!events.has(type)) return;
  for (const spec of specs) events.emit(type, { ...baseOf(spec), ...detail } as unknown as EventDetail<K>);
}

export function reportSettled(
  { events }: GrantEngine,
  spec: AcquireSpec,
  detail: SettledDetail,
  trace?: AcquireTrace,
): void {
  events.emit("acquire-settled", { ...baseOf(spec), mode: spec.mode, ...detail });
  if (trace === undefined) return;
  const { outcome, waitedMs, token } = detail;
  Object.assign(trace, { outcome, waitedMs, token });
  if ("error" in detail) trace.error = detail.error;
  // The error is published first when there is one, as tracing channels do for promises.
  outsideScopes(() => {
    if ("error" in trace) channels.error.publish(trace);
    channels.asyncStart.publish(trace);
    channels.asyncEnd.publish(trace);
  });
}

function baseOf({ kind, name, owner }: AcquireSpec): Base {
  return { kind, name, owner };
}
