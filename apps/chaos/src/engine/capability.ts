/** What a machine must offer for a scenario. `doctor` probes and prints each capability. */
export type Capability =
  | "java"
  | "zookeeper"
  | "redis"
  | "sentinel"
  | "curator"
  | "redisson"
  /** Network namespaces, as root or inside a user namespace. */
  | "namespaces"
  /** A C compiler and a dynamically linked target, for faults of the wall clock and of fsync. */
  | "shims"
  /** Small file systems can be mounted. */
  | "small-disk"
  /** The limits of a running process can be lowered. */
  | "limits";

/** What was found out about one capability. */
export interface Probe {
  /** The capability. */
  readonly capability: Capability;
  /** Whether this machine has it. */
  readonly there: boolean;
  /** What was found, or what is missing. */
  readonly detail: string;
  /** What to install or to set if it is missing. */
  readonly remedy?: string;
}
