import { backendShare, meanWaiting, renewalMarginP01, saturation, timeoutRatio, waitP99 } from "./promql.js";
import type { RecordingRule } from "./rules.js";

/** Names in the convention of Prometheus: level, metric, operation. */
export const recorded = {
  meanWaiting: "lock_group:holdfast_lock_waiting:mean5m",
  waitP99: "lock_group:holdfast_lock_wait_seconds:p99_5m",
  timeoutRatio: "lock_group:holdfast_lock_timeouts:ratio10m",
  saturation: "lock_group:holdfast_lock_hold:saturation5m",
  backendShare: "backend:holdfast_lock_wait_in_backend:ratio5m",
  renewalMarginP01: "instance:holdfast_lock_renewal_margin_seconds:p01_10m",
} as const;

export const recordingRules: readonly RecordingRule[] = [
  { record: recorded.meanWaiting, expr: meanWaiting("5m") },
  { record: recorded.waitP99, expr: waitP99("5m") },
  { record: recorded.timeoutRatio, expr: timeoutRatio("10m") },
  { record: recorded.saturation, expr: saturation("5m") },
  { record: recorded.backendShare, expr: backendShare("5m") },
  { record: recorded.renewalMarginP01, expr: renewalMarginP01("10m") },
];
