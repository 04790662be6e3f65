/** The options that a scenario may set. Every limit has a default. */
export interface CheckOptions {
  /** Only these checkers. */
  readonly only?: readonly string[];
  /** The longest time for which a lock may be free while a worker waits, or one after the other does. Default: 2 leases + 1 s. */
  readonly handoverLimitMs?: number;
  /**
   * Whether faults excuse a lock that is free beside a waiter. Default true. Set it to false if the faults only affect
   * the waking of waiters.
   */
  readonly excuses?: boolean;
  /** The time after the last fault within which every key must be granted to `healClients` clients. Default 10 s. */
  readonly healLimitMs?: number;
  /** Default 2. Use 1 for a lock without a queue: its last holder may rightly take it again and again before all waiters. */
  readonly healClients?: number;
  /** How late an acquire may return after its wait. Default 250 ms, and one lease more if there were faults. */
  readonly lateMs?: number;
  /** How long after the next grant a holder may be notified of its loss. Default 0. */
  readonly lostLateMs?: number;
  /**
   * Whether the client reports each loss to its holder. If it does, a worker that goes on with a hold which another
   * grant has ended was not notified. Default false.
   */
  readonly tellsLoss?: boolean;
  /** The number of overtakes allowed at keys that are not fair. Unset: they are only counted. */
  readonly overtakes?: number;
  /** The number of grants of each key below which nothing is proved. Default 20. */
  readonly minGrants?: number;
  /**
   * Whether exclusion counts as shown only where a worker asked while another one held. Default false, because the workloads of
   * the runner contend by themselves, and the callers of a service may come one after the other.
   */
  readonly contended?: boolean;
  /** Faults that must have happened, by name. */
  readonly planned?: readonly string[];
}
