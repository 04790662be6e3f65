import type { PrimitiveKind } from "../api/capabilities.js";
import type { FencingToken, Millis, Owner } from "../api/values.js";
import {
  type AcquireTrace,
  acquireTraced,
  traceEnd,
  traceSettled,
  traceStart,
} from "../events/acquire-trace.js";
import type { AcquireSpec } from "./acquire-spec.js";
import type { GrantEngine } from "./engine.js";

export type Outcome = "granted" | "unavailable" | "timeout" | "aborted" | "error";

export interface SettledDetail {
  readonly roundTrips: number;
  readonly contended: boolean;
  readonly token: FencingToken | null;
  readonly error?: unknown;
}

/** What one acquire tells of itself: events for code, a trace for tools. Builds nothing that nobody hears. */
export class AcquireReport {
  readonly #engine: GrantEngine;
  readonly #spec: AcquireSpec;
  readonly #late: boolean;
  #trace: AcquireTrace | undefined;

  constructor(engine: GrantEngine, spec: AcquireSpec) {
    this.#engine = engine;
    this.#spec = spec;
    this.#late = spec.asksOnce === true && spec.options.waitMs > 0;
  }

  started(): void {
    if (!this.#late) this.#start();
  }

  #start(): void {
    const { events, id, backend } = this.#engine;
    const { mode } = this.#spec;
    if (events.has("acquire-started")) events.emit("acquire-started", { ...this.#base(), mode });
    if (!acquireTraced()) return;
    this.#trace = { provider: id, backend, ...this.#base(), mode };
    traceStart(this.#trace);
  }

  /** The synchronous part is over. */
  sent(): void {
    if (this.#trace !== undefined) traceEnd(this.#trace);
  }

  notified(): void {
    const { events } = this.#engine;
    if (events.has("notified")) events.emit("notified", this.#base());
  }

  requeued(reason: "session-lost" | "entry-gone"): void {
    const { events } = this.#engine;
    if (events.has("requeued")) events.emit("requeued", { ...this.#base(), reason });
  }

  sequenceHigh(sequence: number): void {
    const { events } = this.#engine;
    if (events.has("sequence-high")) events.emit("sequence-high", { ...this.#base(), sequence });
  }

  /** Something of ours may be left in the queue. */
  cleanUpFailed(error: unknown): void {
    const { events } = this.#engine;
    if (!events.has("release-failed")) return;
    events.emit("release-failed", { ...this.#base(), reason: "unconfirmed", error });
  }

  settled(outcome: Outcome, waitedMs: Millis, detail: SettledDetail): void {
    if (this.#late) {
      if (outcome === "unavailable") return;
      this.#start();
      this.sent();
    }
    const { events } = this.#engine;
    if (events.has("acquire-settled")) {
      const { mode } = this.#spec;
      events.emit("acquire-settled", { ...this.#base(), mode, outcome, waitedMs, ...detail });
    }
    if (this.#trace === undefined) return;
    Object.assign(this.#trace, { outcome, waitedMs, token: detail.token });
    if ("error" in detail) this.#trace.error = detail.error;
    traceSettled(this.#trace);
  }

  #base(): { kind: PrimitiveKind; name: string; owner: Owner } {
    const { kind, name, owner } = this.#spec;
    return { kind, name, owner };
  }
}
