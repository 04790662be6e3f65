import type { RetryPolicy, Runtime } from "@holdfast/core";
import type { Acl } from "@holdfast/zk-protocol";
import type { LockPaths } from "../../layout/lock-path.js";

/** What all nodes of one provider are made with. */
export interface CreateSettings {
  readonly paths: LockPaths;
  readonly runtime: Runtime;
  readonly retry: RetryPolicy;
  /** May throw a `HoldfastError`, which is what the acquire then rejects with. */
  aclOf(path: string): readonly Acl[];
}
