import type { HoldfastError } from "@holdfast/core";
import type { ResponseOf } from "@holdfast/zk-protocol";
import { decodeInt } from "../../layout/numbers.js";
import { requestFailure } from "../session/failures.js";
import type { SessionContext } from "../session-context.js";
import { countFailure, type LeasesSpec } from "./permit-count.js";
import { PermitReading, type ReadingListener } from "./permit-reading.js";

/** `open` or `full` is called each time that both numbers are known anew. */
export interface PermitGateListener {
  open(): void;
  full(): void;
  /** A number has changed; `open()` or `full()` follows. */
  notified(): void;
  failed(error: HoldfastError): void;
}

/**
 * The number of taken permits of a semaphore, and the number of all its permits. Every child of `leases` counts,
 * whichever client made it, because all clients must come to the same sum. Only the head of the queue may act on these
 * reports.
 */
export class PermitGate implements ReadingListener {
  roundTrips = 0;
  readonly #context: SessionContext;
  readonly #spec: LeasesSpec;
  readonly #listener: PermitGateListener;
  readonly #taken: PermitReading<ResponseOf<"getChildren2">>;
  readonly #count: PermitReading<ResponseOf<"getData">> | null;
  /** The head is acting on what it saw: a change is not reported meanwhile. */
  #closed = false;

  constructor(context: SessionContext, spec: LeasesSpec, listener: PermitGateListener) {
    const { session } = context;
    const { lockName, leases, limit } = spec;
    this.#context = context;
    this.#spec = spec;
    this.#listener = listener;
    this.#taken = new PermitReading(context, this, {
      arm: (watcher) => session.watchChildren(leases, watcher),
      valueOf: (listing) => {
        context.grants.reconcile(leases, listing);
        return listing.children.length;
      },
      whenAbsent: 0,
      failure: (error) => requestFailure(`listing ${leases}`, error, session, lockName),
    });
    if (typeof limit === "number") this.#count = null;
    else {
      const { countPath } = limit;
      this.#count = new PermitReading(context, this, {
        arm: (watcher) => session.watchData(countPath, watcher),
        valueOf: ({ data }) => decodeInt(countPath, data),
        whenAbsent: null,
        failure: (error) => countFailure(lockName, countPath, error, session),
      });
    }
  }

  /** The number of all permits; `null` while it is not known. */
  get limit(): number | null {
    const { limit } = this.#spec;
    return typeof limit === "number" ? limit : (this.#count?.value ?? null);
  }

  /** Sends plain reads. The caller calls `ask()` once they are answered. */
  readAlong(): void {
    const { session } = this.#context;
    const { leases, limit } = this.#spec;
    session.send("getChildren2", { path: leases, watch: false }, (outcome) => this.#taken.take(outcome));
    if (typeof limit === "number") return;
    session.send("getData", { path: limit.countPath, watch: false }, (outcome) => this.#count?.take(outcome));
  }

  /** Forgets what was read: it is from before our turn, or our own requests have changed it. */
  forget(): void {
    this.#taken.forget();
    this.#count?.forget();
  }

  /** Requests a report: at once if both numbers are known, else as soon as they are. */
  ask(): void {
    this.#closed = false;
    if (this.#taken.value !== null && this.limit !== null) this.known();
    else this.watch();
  }

  /** Reports each change until `close()`. */
  watch(): void {
    this.#closed = false;
    if (!this.#taken.loose && this.#count?.loose !== true) return;
    this.roundTrips++;
    this.#taken.look();
    this.#count?.look();
  }

  close(): void {
    this.#closed = true;
  }

  stop(): void {
    this.#closed = true;
    this.#taken.stop();
    this.#count?.stop();
  }

  // ---- what the readings report

  changed(): void {
    if (this.#closed) return;
    this.#listener.notified();
    // If the parent of the leases was missing, no watch reports the first lease.
    if (this.#taken.value === 0) this.#taken.forget();
    this.watch();
  }

  failed(error: HoldfastError): void {
    this.#listener.failed(error);
  }

  known(): void {
    const { limit } = this;
    const taken = this.#taken.value;
    if (this.#closed || taken === null || limit === null) return;
    if (taken + this.#spec.permits <= limit) this.#listener.open();
    else this.#listener.full();
  }
}
