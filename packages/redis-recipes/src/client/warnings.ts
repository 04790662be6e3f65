import type { Cluster, Redis } from "ioredis";
import { unsafeOptions } from "./given-client.js";
import type { ReplicaPolicy } from "./master-node.js";
import type { ServerInfo } from "./server-info.js";
import type { LinkTimes } from "./settings.js";

export type Warn = (message: string, code: string) => void;

/** Emits a process warning in the form of all our warnings, with a code to filter by. */
export const warnProcess: Warn = (message, code) => {
  process.emitWarning(message, { type: "HoldfastWarning", code });
};

export function warnOfUnsafeOptions(client: Redis | Cluster, times: LinkTimes, warn: Warn): void {
  for (const { option, advice } of unsafeOptions(client, times)) {
    warn(
      `redisLocks: the ioredis option ${option} of the given client is not safe for locks: ${advice}`,
      "HF_UNSAFE_OPTION",
    );
  }
}

/** Warns once for each server about settings that endanger locks. */
export class ServerChecks {
  readonly #warn: Warn;
  readonly #policy: ReplicaPolicy;
  readonly #told = new Set<string>();

  constructor(policy: ReplicaPolicy, warn: Warn) {
    this.#policy = policy;
    this.#warn = warn;
  }

  /** `missing`: rights without which no message says that a lock was freed. */
  check(server: string, info: ServerInfo, missing: readonly string[]): void {
    const { evictionPolicy, connectedReplicas, runId } = info;
    if (evictionPolicy !== null && evictionPolicy !== "noeviction") {
      this.#tell(
        `maxmemory-policy ${evictionPolicy} ${runId}`,
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
    if (missing.length > 0) {
      this.#tell(
        `rights ${missing.join(" ")} ${runId}`,
        `Redis at ${server} denies ${missing.join(" ")} to this ACL user: waiters get no message when a lock gets free and have to poll, or Java clients get no turn of their own; grant ${missing.join(" ")}`,
        "HF_MISSING_RIGHT",
      );
    }
  }

  /** Reads the answer of a script: a script that publishes reports when it could not. Warns once, whatever the channel. */
  published(answer: unknown): void {
    if (Array.isArray(answer)) {
      for (const each of answer) this.published(each);
      return;
    }
    const failed = (answer as { readonly publishError?: unknown } | null | undefined)?.publishError;
    if (typeof failed !== "string" || failed === "") return;
    this.#tell(
      "publish",
      `a script could not publish, so waiters, those of Java too, get no message when a lock gets free and have to poll; the ACL user needs &holdfast_* &redisson_*: ${failed}`,
      "HF_PUBLISH_DENIED",
    );
  }

  #tell(what: string, message: string, code: string): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.#warn(message, code);
  }
}
