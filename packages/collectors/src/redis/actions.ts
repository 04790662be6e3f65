import type { Runtime } from "@holdfast/core";
import { actUpon } from "../kit/action.js";
import type { ActionRequest, ActionResult } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";
import { ActionRunner, type Outcome } from "./action-runner.js";
import { force, revoke } from "./holder-actions.js";
import type { LockRecord } from "./lock-record.js";
import type { Places } from "./places.js";
import { clean, evict } from "./queue-actions.js";

export interface ActionParts {
  readonly places: Places;
  readonly runtime: Runtime;
  readonly fairLockWaitTimeoutMs: number;
  /** Reads the lock with all that is beside it, at its master. */
  readonly reread: (key: string) => Promise<LockRecord | null>;
  readonly rowOf: (record: LockRecord) => ObservedLock;
}

/**
 * What an operator may do. Each is one script at the master, which compares what the operator saw with what is there and acts in the same
 * moment. Rejects where the backend cannot be asked within 5,000 ms, or refuses.
 */
export class Actions {
  readonly #parts: ActionParts;
  readonly #desk: ActionRunner;

  constructor(parts: ActionParts) {
    this.#parts = parts;
    this.#desk = new ActionRunner(parts.places, parts.runtime, parts.fairLockWaitTimeoutMs);
  }

  act(request: ActionRequest): Promise<ActionResult> {
    const { key, dryRun } = request;
    const { reread, rowOf } = this.#parts;
    return actUpon([], {
      read: () => this.#desk.read(key, () => reread(key)),
      rowOf,
      attempt: async (record, before) => {
        if (record.shape.is === "nothing" && before.state === "idle")
          return { outcome: "nothing-there", effects: [], tried: false };
        // The row may be of a moment before: what was read now is not what the scripts compare, that is `expectedVersion`.
        const done = await this.#run(request, record, before);
        return { ...done, tried: !dryRun && done.outcome === "done" };
      },
    });
  }

  #run(request: ActionRequest, record: LockRecord, lock: ObservedLock): Promise<Outcome> {
    switch (request.action) {
      case "force-release":
        return force(this.#desk, request, record, lock);
      case "request-revoke":
        return revoke(this.#desk, request, record);
      case "evict-waiter":
        return evict(this.#desk, request);
      case "clean-orphan":
        return clean(this.#desk, request);
    }
  }
}
