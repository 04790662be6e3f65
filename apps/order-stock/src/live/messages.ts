import type { Duty } from "./traffic.js";

/** What a part of the shop is given when it is started. */
export interface BranchJob {
  readonly name: string;
  readonly duty: Duty;
  /** Connect string. */
  readonly zookeeper: string;
  /** URL; `null` where there is no Redis. */
  readonly redis: string | null;
}

export const redisPrefix = "order-stock:";
