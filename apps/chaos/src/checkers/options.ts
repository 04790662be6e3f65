/** What a scenario may set; every limit has a default. */
export interface CheckOptions {
  /** Only these checkers. */
  readonly only?: readonly string[];
  /** Longest time that a lock may stand free while a worker waits, or one after the other does. Default: 2 leases + 1 s. */
  readonly handoverLimitMs?: number;
  /** Whether faults excuse a lock that stands free beside a waiter. Default true; false where they only touch what wakes waiters. */
  readonly excuses?: boolean;
  /** Within what every key must be granted to `healClients` clients after the last fault. Default 10 s. */
  readonly healLimitMs?: number;
  /** Default 2. 1 for a lock without a queue: its last holder may rightly take it again and again, past all that wait. */
  readonly healClients?: number;
  /** How much later than its wait an acquire may return. Default 250 ms, and one lease more where faults were. */
  readonly lateMs?: number;
  /** How much later than the next grant a holder may hear that it lost. Default 0. */
  readonly lostLateMs?: number;
  /** The client reports each loss to its holder: one that runs on with a hold which another grant had ended got no report. Default false. */
  readonly tellsLoss?: boolean;
  /** Overtakes that are allowed at keys that are not fair; unset: counted only. */
  readonly overtakes?: number;
  /** Grants of each key without which nothing is proved. Default 20. */
  readonly minGrants?: number;
  /** Faults that must have happened, by name. */
  readonly planned?: readonly string[];
}
