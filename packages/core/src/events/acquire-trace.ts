import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import type { Capabilities, PrimitiveKind } from "../api/capabilities.js";
import type { FencingToken, LockMode, Millis, Owner } from "../api/values.js";
import { outsideScopes } from "../scopes/store.js";

/** What subscribers of `tracing:holdfast:acquire:*` get: one object for all messages of one acquire. */
export interface AcquireTrace {
  readonly provider: string;
  readonly backend: Capabilities["backend"];
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly mode: LockMode;
  readonly owner: Owner;
  outcome?: "granted" | "unavailable" | "timeout" | "aborted" | "error";
  waitedMs?: Millis;
  token?: FencingToken | null;
  error?: unknown;
}

const channels: TracingChannel<AcquireTrace> = tracingChannel("holdfast:acquire");

export function acquireTraced(): boolean {
  return (
    channels.start.hasSubscribers ||
    channels.end.hasSubscribers ||
    channels.asyncStart.hasSubscribers ||
    channels.asyncEnd.hasSubscribers ||
    channels.error.hasSubscribers
  );
}

/** The synchronous part: until the request is on its way. */
export function traceStart(trace: AcquireTrace): void {
  outsideScopes(() => channels.start.publish(trace));
}

export function traceEnd(trace: AcquireTrace): void {
  outsideScopes(() => channels.end.publish(trace));
}

/** The outcome is known; `error` is published first when there is one, as tracing channels do for promises. */
export function traceSettled(trace: AcquireTrace): void {
  outsideScopes(() => {
    if ("error" in trace) channels.error.publish(trace);
    channels.asyncStart.publish(trace);
    channels.asyncEnd.publish(trace);
  });
}
