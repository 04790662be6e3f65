// The questions that people ask of the metrics, as PromQL, once: rules, alerts and panels are made of these.

const perGroup = "backend, lock_group";

/** Mean number of callers that wait, by Little's law. Counts waits that have ended. */
export function meanWaiting(window: string): string {
  return `sum by (${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_sum[${window}]))`;
}

/** How long a grant took, for all but one of a hundred callers. */
export function waitP99(window: string): string {
  return `histogram_quantile(0.99, sum by (le, ${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_bucket{outcome="granted"}[${window}])))`;
}

/** Of the calls that were ready to wait, those that waited in vain. */
export function timeoutRatio(window: string): string {
  const rate = (outcomes: string): string =>
    `sum by (${perGroup}) (rate(holdfast_lock_acquire_duration_seconds_count{outcome=~"${outcomes}"}[${window}]))`;
  return `${rate("timeout")} / (${rate("granted|timeout")} > 0)`;
}

/** How much of the waiting the backend explains; the rest are holders. */
export function backendShare(window: string): string {
  return (
    `sum by (backend) (rate(holdfast_backend_request_duration_seconds_sum{op=~".*acquire.*|.*_take|redlock_vote|create.*|multi"}[${window}]))` +
    ` / (sum by (backend) (rate(holdfast_lock_acquire_duration_seconds_sum[${window}])) > 0)`
  );
}

/** Near 1 for an exclusive lock: it is held all the time, and whatever it guards is done one after the other. */
export function saturation(window: string): string {
  return `sum by (${perGroup}) (rate(holdfast_lock_hold_duration_seconds_sum[${window}]))`;
}

/** What was left of the lease when it was renewed, for the worst of a hundred renewals, of each process. */
export function renewalMarginP01(window: string): string {
  return `histogram_quantile(0.01, sum by (le, backend, job, instance) (rate(holdfast_lock_renewal_margin_seconds_bucket[${window}])))`;
}

/**
 * That a counter went up within the window. A series that was not there before starts at its first count, which `increase` cannot
 * see: the first loss of a process would fire only after the second. So a series that is new and not 0 counts as well.
 */
export function wentUp(counter: string, by: string, window: string): string {
  return (
    `sum by (${by}) (increase(${counter}[${window}])) > 0\n` +
    `or sum by (${by}) (${counter} unless ${counter} offset ${window}) > 0`
  );
}
