import type { ClusterRow } from "../../../src/contract/api.js";
import type { StreamState } from "../live/live-stream.js";

/** How far a page can be trusted, as the head of every page shows it. */
export interface Lamp {
  readonly icon: "held" | "syncing" | "stale" | "pause" | "down" | "denied";
  readonly look: "live" | "wait" | "warn" | "bad";
  readonly word: string;
}

const rank = { live: 0, wait: 1, warn: 2, bad: 3 } as const;

const ofStream: Record<StreamState, Lamp> = {
  connecting: { icon: "syncing", look: "wait", word: "connecting" },
  live: { icon: "held", look: "live", word: "live" },
  reconnecting: { icon: "syncing", look: "warn", word: "reconnecting" },
  polling: { icon: "stale", look: "warn", word: "every 10 s" },
  paused: { icon: "pause", look: "wait", word: "paused" },
};

const ofCluster: Record<ClusterRow["state"], Lamp> = {
  ok: ofStream.live,
  starting: { icon: "syncing", look: "wait", word: "starting" },
  syncing: { icon: "syncing", look: "wait", word: "resyncing" },
  stale: { icon: "stale", look: "warn", word: "stale" },
  down: { icon: "down", look: "bad", word: "down" },
};

const partly: Lamp = { icon: "denied", look: "warn", word: "not all readable" };

/**
 * The worst state of the stream and of the clusters on the page. If two are equally bad, the stream's is shown, because
 * without the stream the state of the clusters is old. `clusters` is `null` while they are not known. A paused page
 * shows only that it is paused, because nothing on it is present.
 */
export function lampOf(stream: StreamState, clusters: readonly ClusterRow[] | null): Lamp {
  if (stream === "paused" || clusters === null) return ofStream[stream === "live" ? "connecting" : stream];
  let worst = ofStream[stream];
  for (const { state, sources } of clusters) {
    const unread = sources.some((each) => each.state === "denied" || each.state === "too-big");
    for (const lamp of unread ? [ofCluster[state], partly] : [ofCluster[state]])
      if (rank[lamp.look] > rank[worst.look]) worst = lamp;
  }
  return worst;
}
