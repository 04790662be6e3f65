import type { ClusterRow } from "../../../src/contract/api.js";
import { ago } from "./duration.js";
import { percent } from "./number.js";

/** One line under the head of the page. */
export interface Line {
  readonly id: string;
  readonly tone: "bad" | "warn" | "info";
  /** What a screen reader reads: without the figures that change all the time. */
  readonly text: string;
  readonly running: string;
}

/** What an operator must know about a cluster before trusting any list. */
export function linesOf(cluster: ClusterRow, nowMs: number): Line[] {
  const { name, backend, state, sources, lastSuccessMs, coverage } = cluster;
  const since =
    lastSuccessMs === null ? "Nothing is known yet" : `Lists show the state of ${ago(nowMs - lastSuccessMs)}`;
  const title = `${backend} ${name}`;
  const lines: Line[] = [];
  if (state === "down" || state === "stale") {
    const text = [`${title}: ${state}.`, ...reasonsOf(cluster)].join(" ");
    lines.push({ id: name, tone: state === "down" ? "bad" : "warn", text, running: since });
  }
  if (state === "starting" || state === "syncing") {
    const text = `${title}: ${state === "syncing" ? "resyncing" : "starting"}.`;
    lines.push({ id: name, tone: "info", text, running: `${percent(coverage)}. ${since}` });
  }
  for (const { source, state: how, message } of sources) {
    if (how !== "denied" && how !== "too-big") continue;
    const word = how === "denied" ? "not readable" : "too big";
    lines.push({
      id: `${name} ${source}`,
      tone: how === "denied" ? "bad" : "warn",
      text: `${title}, ${source}: ${word}. ${message === null ? "" : asSentence(message)}`.trimEnd(),
      running: "",
    });
  }
  return lines;
}

/** The reasons, each named once, because several sources of one backend usually have the same trouble. */
function reasonsOf({ sources }: ClusterRow): string[] {
  const failing = sources.filter(({ state }) => state === "down" || state === "stale");
  const reasons = new Map<string, string[]>();
  for (const { source, message } of failing)
    if (message !== null) reasons.set(message, [...(reasons.get(message) ?? []), source]);
  const [only, more] = reasons.keys();
  if (only === undefined) return [];
  if (more === undefined) return [asSentence(only)];
  return [...reasons].map(([message, who]) => asSentence(`${who.join(", ")}: ${message}`));
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
