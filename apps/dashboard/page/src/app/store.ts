import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
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

// The state that all pages share: the user, the clusters, the stream, the clock.

export const me: Signal<Me | null> = signal(null);
export const meFailure: Signal<ApiFailure | null> = signal(null);
export const clusters: Signal<readonly ClusterRow[] | null> = signal(null);
export const findings: Signal<readonly FindingRow[] | null> = signal(null);
export const streamState: Signal<StreamState> = signal("connecting");

/** The chosen cluster, or all; `null` while none is known. */
export function clustersOf(chosen: string | null): readonly ClusterRow[] | null {
  return clusters.value?.filter(({ name }) => chosen === null || name === chosen) ?? null;
}

/** The server's clock minus ours. Ages are counted by the server's clock. */
const ahead = signal(0);
/** When the last message of the server came, by our clock. */
const heardMs = signal(Date.now());
const tick = signal(Date.now());

export const now: ReadonlySignal<number> = computed(() => tick.value + ahead.value);
/** How long nothing has come from the server, in ms. */
export const quietMs: ReadonlySignal<number> = computed(() => Math.max(0, tick.value - heardMs.value));
export const paused: ReadonlySignal<boolean> = computed(() => streamState.value === "paused");

/** Notes that the server has answered, and its time `nowMs` if the answer has it. */
export function heard(nowMs: number | null): void {
  heardMs.value = Date.now();
  // An answer travels for some ms, and not always for the same time. Small differences are ignored, or ages would jump
  // to and fro.
  if (nowMs !== null && Math.abs(nowMs - Date.now() - ahead.peek()) > 250) ahead.value = nowMs - Date.now();
  tick.value = Date.now();
}

type Hears = {
  locks: (rows: readonly LockRow[]) => void;
  gone: (ids: readonly string[]) => void;
  changes: (count: number) => void;
  overview: (overview: Overview) => void;
  /** Ask anew: the stream has come back, or cannot be opened. */
  ask: () => void;
};
const listeners = new Set<Partial<Hears>>();

/** Calls these functions with what the stream brings. The returned function ends this. */
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

/** A failed request is shown by the stream's state. What is known stays. */
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
  // After another sign-in the rights may be other ones, and a restarted server has other tokens.
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

/** Whether the user of the page has this role or a higher one, as far as the page knows. The server decides. */
export function hasRole(role: string): boolean {
  const who = me.value;
  const needed = ranks[role as keyof typeof ranks];
  return who !== null && needed !== undefined && ranks[who.role] >= needed;
}

/** Whether the user may change locks in a way that needs this role. */
export function may(role: string): boolean {
  return me.value?.actions === true && hasRole(role);
}

/**
 * Whether the user may search for places with locks. This is no action, so it works where actions are switched off. It
 * costs the backend something, so it takes the role operator.
 */
export const mayDiscover: ReadonlySignal<boolean> = computed(() => hasRole("operator"));
