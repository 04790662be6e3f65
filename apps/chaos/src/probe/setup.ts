/** What the runner puts into the environment variable `CHAOS_PROBE` of a service. */
export interface ProbeSetup {
  /** The file descriptor that records are written to. */
  readonly fd: number;
  /** Instance and incarnation. */
  readonly p: string;
  /** See `WorkerSetup.clockBase`. */
  readonly clockBase: string;
  /** `host:port` of the protected resource. */
  readonly resource: string;
  /** The locks that the run judges. */
  readonly keys: readonly string[];
}
