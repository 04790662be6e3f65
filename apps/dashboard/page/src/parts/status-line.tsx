import type { JSX } from "preact";
import type { ClusterRow } from "../../../src/contract/api.js";
import { clusters, meFailure, now, quietMs, streamState } from "../app/store.js";
import type { View } from "../app/view.js";
import { clock, span } from "../format/duration.js";
import { percent } from "../format/number.js";
import { Icon } from "./icon.js";

interface Line {
  readonly id: string;
  readonly tone: "bad" | "warn" | "info";
  /** What is told aloud: without the figures that run. */
  readonly text: string;
  readonly running: string;
}

/** What of a cluster an operator must know before believing any list. */
function linesOf(cluster: ClusterRow, nowMs: number): Line[] {
  const { name, backend, state, sources, lastSuccessMs, coverage } = cluster;
  const since =
    lastSuccessMs === null
      ? "Nothing is known yet"
      : `Lists show the state of ${span(nowMs - lastSuccessMs)} ago`;
  const title = `${backend} ${name}`;
  if (state === "down") {
    const next = Math.min(...sources.flatMap(({ nextTryMs }) => (nextTryMs === null ? [] : [nextTryMs])));
    const retry = Number.isFinite(next) ? `; next try in ${clock(next - nowMs)}` : "";
    const reason = sources.find(({ state, message }) => state === "down" && message !== null)?.message;
    return [
      {
        id: name,
        tone: "bad",
        text: `${title}: down.${reason ? ` ${reason}` : ""}`,
        running: `${since}${retry}`,
      },
    ];
  }
  const lines: Line[] = [];
  const why = sources.filter(
    ({ state: how, message }) => (how === "down" || how === "stale") && message !== null,
  );
  const reasons = why.map(({ source, message }) => ` ${source}: ${message}.`).join("");
  if (state === "stale")
    lines.push({ id: name, tone: "warn", text: `${title}: stale.${reasons}`, running: since });
  if (state === "starting" || state === "syncing") {
    lines.push({
      id: name,
      tone: "info",
      text: `${title}: ${state === "syncing" ? "resyncing" : "starting"}.`,
      running: `${percent(coverage)}. ${since}`,
    });
  }
  for (const { source, state: how, message } of sources) {
    if (how !== "denied" && how !== "too-big") continue;
    const word = how === "denied" ? "not readable" : "too big";
    lines.push({
      id: `${name} ${source}`,
      tone: how === "denied" ? "bad" : "warn",
      text: `${title}, ${source}: ${word}. ${message ?? ""}`,
      running: "",
    });
  }
  return lines;
}

/** Polite and short: only what does not run is in the live region, so that nobody is told each second. */
export function StatusLine({ view }: { view: View }): JSX.Element {
  const lines = (clusters.value ?? []).flatMap((each) =>
    view.cluster === null || view.cluster === each.name ? linesOf(each, now.value) : [],
  );
  const failure = meFailure.value;
  const state = streamState.value;
  if (state === "reconnecting" || state === "polling") {
    lines.unshift({
      id: " stream",
      tone: "warn",
      text:
        state === "polling" ? "No live updates: asking every 10 s." : "Live updates are lost: reconnecting.",
      running: `${failure?.kind === "unreachable" ? "The dashboard does not answer. " : ""}Last heard ${span(quietMs.value)} ago`,
    });
  }
  return (
    <div class="status-lines" role="status" aria-live="polite">
      {lines.map(({ id, tone, text, running }) => (
        <p key={id} class={`notice ${tone}`}>
          <Icon name={tone === "bad" ? "critical" : tone === "warn" ? "warning" : "syncing"} />
          <span>
            {text}
            {running !== "" && <span aria-live="off"> {running}.</span>}
          </span>
        </p>
      ))}
    </div>
  );
}
