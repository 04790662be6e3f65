import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type {
  ClusterRow,
  Clusters,
  FindingRow,
  Findings,
  LockRow,
  Me,
  Overview,
} from "../../../src/contract/api.js";
import { get } from "../api/client.js";
import { ApiFailure } from "../api/failure.js";
import { LiveStream, type StreamState } from "../live/live-stream.js";
import { apiUrl } from "./base.js";

// What all pages share: who asks, the clusters, the stream, the clock.

export const me: Signal<Me | null> = signal(null);
export const meFailure: Signal<ApiFailure | null> = signal(null);
export const clusters: Signal<readonly ClusterRow[] | null> = signal(null);
export const findings: Signal<readonly FindingRow[] | null> = signal(null);
export const streamState: Signal<StreamState> = signal("connecting");

/** The one that is chosen, or all; `null` while none is known. */
export function clustersOf(chosen: string | null): readonly ClusterRow[] | null {
  return clusters.value?.filter(({ name }) => chosen === null || name === chosen) ?? null;
}

/** Server's clock less ours. Ages are counted by the server's. */
const ahead = signal(0);
/** When the server was last heard, by our clock. */
const heardMs = signal(Date.now());
const tick = signal(Date.now());

export const now: ReadonlySignal<number> = computed(() => tick.value + ahead.value);
/** How long nothing has come from the server, in ms. */
export const quietMs: ReadonlySignal<number> = computed(() => Math.max(0, tick.value - heardMs.value));
export const paused: ReadonlySignal<boolean> = computed(() => streamState.value === "paused");

/** The server has answered: by `nowMs` where the answer says it. */
export function heard(nowMs: number | null): void {
  heardMs.value = Date.now();
  // The way of an answer takes some ms each time: small differences are left alone, or ages would jump to and fro.
  if (nowMs !== null && Math.abs(nowMs - Date.now() - ahead.peek()) > 250) ahead.value = nowMs - Date.now();
  tick.value = Date.now();
}

type Hears = {
  locks: (rows: readonly LockRow[]) => void;
  gone: (ids: readonly string[]) => void;
  changes: (count: number) => void;
  overview: (overview: Overview) => void;
  /** Ask anew: the stream is (again) there, or cannot be had. */
  ask: () => void;
};
const listeners = new Set<Partial<Hears>>();

/** Calls these functions with what the stream brings. The result ends that. */
export function listen(hears: Partial<Hears>): () => void {
  listeners.add(hears);
  return () => listeners.delete(hears);
}

function tell<K extends keyof Hears>(what: K, ...heard: Parameters<Hears[K]>): void {
  for (const each of [...listeners])
    (each[what] as ((...all: Parameters<Hears[K]>) => void) | undefined)?.(...heard);
}

export const stream: LiveStream = new LiveStream(
  (query) => new EventSource(`${apiUrl("events")}${query === "" ? "" : `?${query}`}`),
  {
    opened() {
      askShared();
      tell("ask");
    },
    heard,
    stateChanged(state) {
      streamState.value = state;
    },
    locks: (rows) => tell("locks", rows),
    gone: (ids) => tell("gone", ids),
    changes: (count) => tell("changes", count),
    overview: (overview) => tell("overview", overview),
    findings(rows) {
      findings.value = rows;
    },
    clusters(rows) {
      clusters.value = rows;
    },
    poll() {
      askShared();
      tell("ask");
    },
  },
  { set: (callback, ms) => setTimeout(callback, ms), clear: (timer) => clearTimeout(timer as number) },
);

/** A failed try is shown by the stream's state; what is known stays. */
function quietly(asked: Promise<void>): void {
  asked.catch((error: unknown) => {
    if (error instanceof ApiFailure) meFailure.value = error;
    else throw error;
  });
}

function askShared(): void {
  quietly(
    get<Clusters>("clusters").then((answer) => {
      clusters.value = answer.clusters;
      heard(answer.nowMs);
      meFailure.value = null;
    }),
  );
  quietly(
    get<Findings>("findings").then((answer) => {
      findings.value = answer.rows;
    }),
  );
  // Another sign-in may have other rights, and a restarted server other tokens.
  quietly(
    get<Me>("me").then((answer) => {
      me.value = answer;
    }),
  );
}

export function start(): void {
  askShared();
  stream.want(start, { rows: [], overview: false, findings: true });
  stream.start();
  setInterval(() => {
    if (!paused.peek()) tick.value = Date.now();
  }, 1000);
  let hidden = false;
  // A hidden tab has no stream, so that it costs nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && !paused.peek()) {
      hidden = true;
      stream.pause();
    } else if (!document.hidden && hidden) {
      hidden = false;
      stream.resume();
    }
  });
}

const ranks = { viewer: 0, operator: 1, admin: 2 } as const;

/** Whether the user of the page has this role or a higher one, as far as the page knows; the server decides. */
export function hasRole(role: string): boolean {
  const who = me.value;
  const needed = ranks[role as keyof typeof ranks];
  return who !== null && needed !== undefined && ranks[who.role] >= needed;
}

/** Whether the user may change locks in a way that needs this role. */
export function may(role: string): boolean {
  return me.value?.actions === true && hasRole(role);
}

/** Looking around for places is no action, so that switching those off does not forbid it; but it costs the backend something. */
export const mayDiscover: ReadonlySignal<boolean> = computed(() => hasRole("operator"));

/** The badge in the title bar of the browser: what is critical is worth a look at the tab. */
effect(() => {
  const critical = (findings.value ?? []).filter(
    (each) => each.severity === "critical" && each.muted === null,
  ).length;
  document.documentElement.dataset.critical = String(critical);
});
