import type { ClusterRow } from "../../../src/contract/api.js";
import { percent } from "./number.js";

type Source = ClusterRow["sources"][number];

interface Meaning {
  /** What the source is for. */
  readonly what: string;
  /** The words before its first time, when nothing is wrong. */
  readonly idle: string | null;
  /** What its share is a share of; `null` if its share means nothing. */
  readonly share: string | null;
}

const list: Meaning = { what: "the list of locks", idle: null, share: "" };
const meanings: readonly (readonly [RegExp, Meaning])[] = [
  [/^pubsub\b/, { what: "who listens for a lock", idle: null, share: "" }],
  [
    /^compare\b/,
    { what: "checks the list against the backend now and then", idle: "not due yet", share: null },
  ],
  [
    /^sessions\b/,
    { what: "addresses and time-outs of clients", idle: "not asked yet", share: "of the servers tell" },
  ],
  [/^rows\b/, { what: "the rows on screen", idle: "no rows on screen", share: null }],
  [/^servers\b/, { what: "the table above", idle: "not asked yet", share: null }],
];

/** How a source is doing, in words that say what its figures mean. */
export function standingOf(source: Source): {
  readonly what: string;
  /** Shown in place of the state. */
  readonly idle: string | null;
  /** `null` if there is nothing of which it could have seen a part. */
  readonly coverage: string | null;
} {
  const { what, idle, share } = meanings.find(([name]) => name.test(source.source))?.[1] ?? list;
  const untried = source.state === "starting" && source.lastSuccessMs === null && source.message === null;
  const coverage =
    share === null || source.state === "off" || (untried && idle !== null)
      ? null
      : `${percent(source.coverage)} ${share}`.trimEnd();
  return { what, idle: untried ? idle : null, coverage };
}

/** The sources that may delay an answer, each as a part of a sentence. Sources that are idle by design are left out. */
export function lateSources(clusters: readonly Pick<ClusterRow, "name" | "sources">[]): string[] {
  return clusters.flatMap(({ name, sources }) =>
    sources
      .filter((each) => each.state !== "ok" && each.state !== "off" && standingOf(each).idle === null)
      .map(({ source, state, coverage }) => `${source} of ${name} is ${state} (${percent(coverage)})`),
  );
}

/** A moment in the form in which collectors give it among the facts of a server; `null` for anything else. */
export function momentIn(value: string): number | null {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? Date.parse(value) : null;
}
