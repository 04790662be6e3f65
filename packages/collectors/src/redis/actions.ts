import type { Act, Outcome } from "../kit/action.js";
import type { LockAction } from "../observe/collector.js";
import { type Acting, type ActionRunner, unsupported } from "./action-runner.js";
import { force, revoke } from "./holder-actions.js";
import type { LockRecord } from "./lock-record.js";
import { clean, evict } from "./queue-actions.js";

export interface ActionParts {
  readonly runner: ActionRunner;
  /** Reads the lock with all keys beside it, at its master. */
  readonly reread: (key: string) => Promise<LockRecord | null>;
  readonly rowOf: Act<LockRecord>["rowOf"];
  readonly whoIs: Acting["whoIs"];
}

const actions: Readonly<Record<LockAction, (acting: Acting) => Promise<Outcome>>> = {
  "force-release": force,
  "request-revoke": revoke,
  "evict-waiter": evict,
  "clean-orphan": clean,
};

const manyHolders =
  "The lock has so many holders that only a part of them is read, so it cannot be compared with what was shown. To free it all the same, delete its key in Redis: holders of holdfast notice that with their next renewal, a third of the lease later, and holders of Redisson do not notice it.";

/**
 * What an operator may do. Each action is one script at the master, which compares what the operator saw with what is there
 * and acts in the same moment. Rejects where the backend cannot be asked within 5,000 ms, or refuses.
 */
export function actOn({ runner, reread, rowOf, whoIs }: ActionParts, key: string): Act<LockRecord> {
  return {
    gone: [],
    read: () => runner.read(key, () => reread(key)),
    rowOf,
    attempt: async (request, record, before) => {
      if (record.shape.is === "nothing" && before.state === "idle")
        return { outcome: "nothing-there", effects: [], tried: false };
      // The version is that of all holders, which the scripts compute again, so that of a part would always differ.
      if (record.shape.is === "lock" && record.shape.partly === true)
        return { ...unsupported(manyHolders), tried: false };
      // The row may already be outdated. The scripts do not compare it: they compare `expectedVersion`.
      const done = await actions[request.action]({ runner, request, record, lock: before, whoIs });
      return { ...done, tried: !request.dryRun && done.outcome === "done" };
    },
  };
}
