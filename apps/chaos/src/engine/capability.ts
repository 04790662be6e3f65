/** What a machine must offer for a scenario. `doctor` probes and prints each. */
export type Capability =
  | "java"
  | "zookeeper"
  | "redis"
  | "sentinel"
  | "curator"
  | "redisson"
  /** Network namespaces, as root or inside a user namespace. */
  | "namespaces"
  /** A C compiler and a dynamically linked target: wall clock and fsync can be turned. */
  | "shims"
  /** Small file systems can be mounted. */
  | "small-disk"
  /** Limits of a running process can be lowered. */
  | "limits";

/** What was found of one capability. */
export interface Probe {
  /** The capability. */
  readonly capability: Capability;
  /** Whether this machine has it. */
  readonly there: boolean;
  /** What was found, or what is missing. */
  readonly detail: string;
  /** What to install or to set, where it is not there. */
  readonly remedy?: string;
}
