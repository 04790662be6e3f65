import type { LockSnapshot, Millis, PrimitiveKind, Runtime } from "@holdfast/core";
import type { Attempt, AttemptListener, Grant, GrantRequest, LockDriver } from "@holdfast/core/driver";

/** A server with one row for each held lock. A call that it cannot answer rejects with a retryable `BackendError`. */
export interface Table {
  /** Resolves to the fencing token, or to `null` while another owner has the row. */
  insert(name: string, owner: string, leaseMs: Millis): Promise<bigint | null>;
  /** Resolves to `false` when the row is not this owner's any more. */
  update(name: string, owner: string, leaseMs: Millis): Promise<boolean>;
  /** Resolves as `update` does. Keeps trying through outages, until it is answered or the lease is over. */
  delete(name: string, owner: string): Promise<boolean>;
  /** Calls back when an operator deletes the row of this owner. */
  onDeleted(owner: string, deleted: () => void): void;
  snapshot(kind: PrimitiveKind, name: string): Promise<LockSnapshot>;
}

// From here on CONTRIBUTING.md shows this file.

export function tableDriver(table: Table, runtime: Runtime): LockDriver {
  return {
    capabilities: {
      backend: "memory",
      lease: "ttl",
      fencing: "durable",
      fairness: "none",
      push: false,
      primitives: new Set<PrimitiveKind>(["mutex", "reentrant-mutex"]),
    },
    attempt: ([request], listener) => tableAttempt(table, runtime, request, listener),
    inspect: (kind, name) => table.snapshot(kind, name),
    close: async () => {},
  };
}

/** Asks every 100 ms until it has the row. */
function tableAttempt(
  table: Table,
  runtime: Runtime,
  { name, leaseMs, mayWait }: GrantRequest,
  listener: AttemptListener,
): Attempt {
  const owner = runtime.randomId();
  let withdrawn = false;
  let roundTrips = 0;
  let validUntilMs = 0;
  // A lease counts from when it was asked for, less what the clocks may drift apart.
  const lastsFrom = (sentMs: Millis, forMs: Millis) => {
    validUntilMs = sentMs + 0.99 * forMs;
    return validUntilMs;
  };
  const grantOf = (token: bigint): Grant => ({
    token,
    backendId: owner,
    permitIds: [],
    roundTrips,
    contended: roundTrips > 1,
    validUntilMs: () => validUntilMs,
    async prove(forMs) {
      const sentMs = runtime.nowMs();
      return (await table.update(name, owner, forMs)) ? lastsFrom(sentMs, forMs) : null;
    },
    release: () => table.delete(name, owner),
  });
  const ask = async (): Promise<void> => {
    const sentMs = runtime.nowMs();
    roundTrips++;
    const token = await table.insert(name, owner, leaseMs);
    if (withdrawn) return;
    if (token !== null) {
      lastsFrom(sentMs, leaseMs);
      const [state] = listener.granted([grantOf(token)]);
      table.onDeleted(owner, () => state.lost("stolen"));
    } else if (mayWait) {
      listener.waiting();
      runtime.setTimer(100, start);
    } else listener.unavailable();
  };
  const failed = (error: unknown): void => {
    if (!withdrawn) listener.failed(error);
  };
  let asked: Promise<void> | undefined;
  const start = (): void => {
    if (!withdrawn) asked = ask().catch(failed);
  };
  start();
  return {
    async withdraw() {
      withdrawn = true;
      await asked;
      await table.delete(name, owner);
    },
  };
}
