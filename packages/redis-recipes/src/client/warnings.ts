import type { Cluster, Redis } from "ioredis";
import { unsafeOptions } from "./given-client.js";
import type { ReplicaPolicy } from "./master-node.js";
import type { ServerInfo } from "./server-info.js";

export type Warn = (message: string, code: string) => void;

/** As other warnings of ours, with a code to filter by. */
export const warnProcess: Warn = (message, code) => {
  process.emitWarning(message, { type: "HoldfastWarning", code });
};

export function warnOfUnsafeOptions(client: Redis | Cluster, warn: Warn): void {
  for (const { option, advice } of unsafeOptions(client)) {
    warn(
      `redisLocks: the ioredis option ${option} of the given client is not safe for locks: ${advice}`,
      "HF_UNSAFE_OPTION",
    );
  }
}

/** Says once of each server what in its configuration endangers locks. */
export class ServerChecks {
  readonly #warn: Warn;
  readonly #policy: ReplicaPolicy;
  readonly #told = new Set<string>();

  constructor(policy: ReplicaPolicy, warn: Warn) {
    this.#policy = policy;
    this.#warn = warn;
  }

  check(server: string, info: ServerInfo): void {
    const { evictionPolicy, connectedReplicas, runId } = info;
    if (evictionPolicy !== null && evictionPolicy !== "noeviction") {
      this.#tell(
        `maxmemory-policy ${runId}`,
        `Redis at ${server} has maxmemory-policy ${evictionPolicy}: when its memory is full it deletes locks that are held; set maxmemory-policy noeviction`,
        "HF_EVICTION_POLICY",
      );
    }
    const { replicas } = this.#policy;
    if (connectedReplicas < replicas) {
      this.#tell(
        `replicas ${runId}`,
        `Redis at ${server} has ${connectedReplicas} of the ${replicas} replicas that the option replicas names connected`,
        "HF_REPLICAS_MISSING",
      );
    }
  }

  #tell(what: string, message: string, code: string): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.#warn(message, code);
  }
}
