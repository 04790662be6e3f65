import type { Duty } from "./traffic.js";

/** What a part of the shop gets when it is started. */
export interface BranchJob {
  readonly name: string;
  readonly duty: Duty;
  /** A connect string. */
  readonly zookeeper: string;
  /** A URL; `null` if there is no Redis. */
  readonly redis: string | null;
}

export const redisPrefix = "order-stock:";
