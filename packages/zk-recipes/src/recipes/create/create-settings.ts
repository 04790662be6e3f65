import type { RetryPolicy, Runtime } from "@holdfast/core";
import type { Acl } from "@holdfast/zk-protocol";
import type { LockPaths } from "../../layout/lock-path.js";

/** The settings with which a provider makes all its nodes. */
export interface CreateSettings {
  readonly paths: LockPaths;
  readonly runtime: Runtime;
  readonly retry: RetryPolicy;
  /** May throw a `HoldfastError`; the acquire then rejects with that error. */
  aclOf(path: string): readonly Acl[];
}
