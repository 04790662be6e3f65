import type { Catalogue, CatalogueLabel } from "./catalogue.js";
import { guardedLabels } from "./label-guard.js";
import {
  acquireOutcomes,
  backends,
  holdEnds,
  keepingEnds,
  keepingStates,
  lossReasons,
  recipes,
  releaseFailureReasons,
  renewalOutcomes,
  requeueReasons,
  sessionStates,
} from "./words.js";

const backend: CatalogueLabel = { name: "backend", values: backends };
const recipe: CatalogueLabel = { name: "recipe", values: recipes };
const group: CatalogueLabel = { name: "lock_group" };
const cluster: CatalogueLabel = { name: "cluster" };
const perGroup: readonly CatalogueLabel[] = [backend, recipe, group];

/** Seconds, from the length of a round trip to that of a patient wait. */
const waitBuckets: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
const holdBuckets: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** What `lockMetrics()` registers. */
export const lockCatalogue: Catalogue = {
  prefix: "holdfast_",
  entries: [
    {
      name: "lock_acquire_duration_seconds",
      type: "histogram",
      labels: [...perGroup, { name: "outcome", values: acquireOutcomes }],
      buckets: waitBuckets,
      from: "`acquire-settled`",
      help: "From the call of acquire to its result, free locks included. Being evicted from the queue is an error.",
    },
    {
      name: "lock_acquire_contended_total",
      type: "counter",
      labels: perGroup,
      from: "`acquire-settled`.contended",
      help: "Acquires that had to queue at least once.",
    },
    {
      name: "lock_hold_duration_seconds",
      type: "histogram",
      labels: [...perGroup, { name: "end", values: holdEnds }],
      buckets: holdBuckets,
      from: "`released`, `lost`",
      help: "From the grant to the end of the hold.",
    },
    {
      name: "lock_handoff_duration_seconds",
      type: "histogram",
      labels: [backend, recipe],
      buckets: waitBuckets,
      from: "`notified` to `acquire-settled`",
      help: "From the last wake-up that a waiter saw to its grant.",
    },
    {
      name: "locks_held",
      type: "gauge",
      labels: perGroup,
      from: "`holds()`",
      help: "Holds of this process now.",
    },
    {
      name: "lock_waiters",
      type: "gauge",
      labels: perGroup,
      from: "`acquire-started` less `acquire-settled`",
      help: "Acquires of this process that are under way now.",
    },
    {
      name: "lock_oldest_wait_seconds",
      type: "gauge",
      labels: perGroup,
      from: "`acquire-started`, at each scrape",
      help: "Age of the oldest acquire under way; 0 when there is none.",
    },
    {
      name: "lock_oldest_hold_seconds",
      type: "gauge",
      labels: perGroup,
      from: "`holds()`, at each scrape",
      help: "Age of the oldest hold; 0 when there is none.",
    },
    {
      name: "lock_lost_total",
      type: "counter",
      labels: [...perGroup, { name: "reason", values: lossReasons }],
      from: "`lost`, `released`.reason",
      help: "Holds that were over before their release.",
    },
    {
      name: "lock_requeued_total",
      type: "counter",
      labels: [backend, recipe, { name: "reason", values: requeueReasons }],
      from: "`requeued`",
      help: "Waiters that lost their place and stood at the tail again.",
    },
    {
      name: "lock_grants_lent_total",
      type: "counter",
      labels: [backend, recipe],
      from: "`acquire-settled`.kept",
      help: "Grants that this process lent from a lock it had kept, without a request.",
    },
    {
      name: "locks_kept",
      type: "gauge",
      labels: [backend, { name: "state", values: keepingStates }],
      from: "`kept()`",
      help: "Locks that this process keeps now for their next owner, and those of them that an owner has.",
    },
    {
      name: "lock_keepings_ended_total",
      type: "counter",
      labels: [backend, recipe, { name: "reason", values: keepingEnds }],
      from: "`keeping-ended`",
      help: "Kept locks that were given back. Many with token_read: owners fence by token alone, so that keeping saves nothing.",
    },
    {
      name: "lock_keepings_unused_total",
      type: "counter",
      labels: [backend, recipe],
      from: "`keeping-ended`.lends",
      help: "Kept locks that were given back without having been lent once: keeping them has cost requests.",
    },
    {
      name: "lock_release_errors_total",
      type: "counter",
      labels: [backend, recipe, { name: "reason", values: releaseFailureReasons }],
      from: "`release-failed`",
      help: "Releases and clean-ups that got no answer or were refused.",
    },
    {
      name: "lock_renewals_total",
      type: "counter",
      labels: [backend, { name: "outcome", values: renewalOutcomes }],
      from: "`renewed`, `renew-failed`",
      help: "Renewals of leases.",
    },
    {
      name: "lock_renewal_margin_seconds",
      type: "histogram",
      labels: [backend],
      buckets: [0.1, 0.5, 1, 2, 5, 10, 20, 30],
      from: "`renewed`, `renew-failed`",
      help: "Validity that was left when a renewal was answered or failed. Near 0 is danger.",
    },
    {
      name: "lock_acquire_round_trips",
      type: "histogram",
      labels: [backend, recipe],
      buckets: [1, 2, 3, 5, 8, 13],
      from: "`acquire-settled`.roundTrips",
      help: "Round trips to the backend that a grant took.",
    },
    {
      name: "session_connected",
      type: "gauge",
      labels: [backend, cluster],
      from: "`session-state`, `state` at each scrape",
      help: "1 while all providers of the cluster are connected, else 0.",
    },
    {
      name: "session_state_changes_total",
      type: "counter",
      labels: [backend, cluster, { name: "state", values: sessionStates }],
      from: "`session-state`",
      help: "Changes of a session's state, by the new one.",
    },
    {
      name: "session_timeout_seconds",
      type: "gauge",
      labels: [backend, cluster],
      from: "`session-state`.timeoutMs",
      help: "Session time-out as negotiated, the smallest of the cluster. Backends without sessions have none.",
    },
    {
      name: "backend_request_duration_seconds",
      type: "histogram",
      labels: [backend, { name: "op" }],
      buckets: waitBuckets,
      from: "`request-settled`",
      help: "Requests on the wire, by operation.",
    },
    {
      name: "fencing_rejections_total",
      type: "counter",
      labels: [{ name: "resource_group" }],
      from: "`fencing-rejected`.group of `tokenGate()`",
      help: "Writers that a token gate refused because of an old token.",
    },
    {
      name: "metrics_label_overflow_total",
      type: "counter",
      labels: [{ name: "label", values: guardedLabels }],
      from: "the guard of label values",
      help: "Observations whose label value was one too many, and is called otherwise.",
    },
    {
      name: "build_info",
      type: "gauge",
      labels: [{ name: "version" }, { name: "node" }],
      from: "-",
      help: "Always 1.",
    },
  ],
};
