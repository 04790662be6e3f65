// Each expression over the metrics is written here once. Rules, alerts and panels are made of these.

const perGroup = "backend, lock_group";

/** The mean number of callers that wait, by Little's law. It counts only waits that have ended. */
export function meanWaiting(window: string): string {
  return `sum by (${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_sum[${window}]))`;
}

/** The 99th percentile of the time that a grant took. */
export function waitP99(window: string): string {
  return `histogram_quantile(0.99, sum by (le, ${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_bucket{outcome="granted"}[${window}])))`;
}

/** Of the calls that were ready to wait, the part that timed out. */
export function timeoutRatio(window: string): string {
  const rate = (outcomes: string): string =>
    `sum by (${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_count{outcome=~"${outcomes}"}[${window}]))`;
  return `${rate("timeout")} / (${rate("granted|timeout")} > 0)`;
}

/** The part of the waiting time that the backend's answers took. Holders cause the rest. */
export function backendShare(window: string): string {
  return (
    `sum by (backend) (rate(holdfast_backend_request_duration_seconds_sum{op=~".*acquire.*|.*_take|redlock_vote|create.*|multi"}[${window}]))` +
    ` / (sum by (backend) (rate(holdfast_lock_acquire_duration_seconds_sum[${window}])) > 0)`
  );
}

/**
 * The mean number of holds at a time. Near 1 for an exclusive lock: it is held all the time, and the work under it runs one piece
 * after the other.
 */
export function saturation(window: string): string {
  return `sum by (${perGroup}) (rate(holdfast_lock_hold_duration_seconds_sum[${window}]))`;
}

/** The 1st percentile of the lease that was left at a renewal, for each process. */
export function renewalMarginP01(window: string): string {
  return `histogram_quantile(0.01, sum by (le, backend, job, instance) (rate(holdfast_lock_renewal_margin_seconds_bucket[${window}])))`;
}

/**
 * True if a counter went up within the window. A new series starts at its first count, and `increase` cannot see that count: the
 * alert would fire only at the second loss of a process. So a series that is new and not 0 counts as well.
 */
export function wentUp(counter: string, by: string, window: string): string {
  return (
    `sum by (${by}) (increase(${counter}[${window}])) > 0\n` +
    `or sum by (${by}) (${counter} unless ${counter} offset ${window}) > 0`
  );
}
