/** The content of the environment variable `CHAOS_PROBE`, which the runner sets for a service. */
export interface ProbeSetup {
  /** The file descriptor to which records are written. */
  readonly fd: number;
  /** The instance and its incarnation. */
  readonly p: string;
  /** See `WorkerSetup.clockBase`. */
  readonly clockBase: string;
  /** `host:port` of the protected resource. */
  readonly resource: string;
  /** The locks that the run judges. */
  readonly keys: readonly string[];
}
