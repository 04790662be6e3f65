import { judge } from "../../checkers/judge.js";
import type { CheckResult } from "../../checkers/verdict.js";
import type { ScenarioOutcome } from "../../engine/outcome.js";
import type { EndCause, History } from "../../history/history.js";
import type { EffectRow, EventRow, TimelineData, TimelineVerdict } from "./data.js";
import { overlapsOf } from "./overlaps.js";
import { haltRows, holdRows, micros, Places, waitRows } from "./rows.js";
import { serverLanes } from "./servers.js";

/** The data that the page draws for a history. Without the outcome of a run the history is judged here. */
export function buildTimeline(
  history: History,
  outcome: ScenarioOutcome | null,
  rawIsPartial = false,
): TimelineData {
  const [workers, keys, causes] = [new Places(), new Places(), new Places()];
  // Workers are sorted by their names, including those that only started.
  for (const p of [...history.workers.keys()].sort(byName)) workers.of(p);
  for (const key of [...history.keys.keys()].sort(byName)) keys.of(key);
  const { rows: holds, places } = holdRows(history, workers, keys, causes);
  const { list, leftOut } = overlapsOf(history);
  const events: EventRow[] = [];
  const effects: EffectRow[] = [];
  let operations = 0;
  for (const about of history.keys.values()) {
    const k = keys.of(about.key);
    operations += about.operations.length;
    for (const { p, t, f, hold, i } of about.events)
      events.push([workers.of(p), k, micros(t), f, hold ?? "", i]);
    for (const { t, accepted, token, hold, i } of about.effects)
      effects.push([k, micros(t), accepted ? 1 : 0, token ?? "", hold, i]);
  }
  const { meta } = history;
  return {
    title: outcome?.scenario.title ?? "a history, judged again",
    scenario: outcome?.scenario.id ?? meta.scenario,
    run: meta.run,
    seed: outcome?.seed ?? meta.seed,
    outcome: outcome?.outcome ?? "checked",
    why: outcome?.why ?? "",
    endUs: Math.max(1, micros(history.endedAt)),
    operations,
    records: history.records,
    keys: keys.names.map((name) => {
      const about = history.keys.get(name)?.meta;
      return { name, kind: about?.kind ?? "", fenced: about?.fenced === true };
    }),
    holds,
    waits: waitRows(history, workers, keys),
    halts: haltRows(history, workers),
    events,
    effects,
    faults: history.faults.map(({ name, target, from, to, evident, begin }) => ({
      name,
      target,
      fromUs: micros(from),
      toUs: micros(Math.min(to, history.endedAt)),
      evident,
      record: begin.i,
    })),
    servers: serverLanes(history.faults, history.endedAt),
    overlaps: list.map(({ key, first, second, from, to }) => [
      keys.of(key),
      places.get(first.grant) ?? -1,
      places.get(second.grant) ?? -1,
      micros(from),
      micros(to),
    ]),
    overlapsLeftOut: leftOut,
    verdicts: (outcome?.results ?? judge(history, history.meta.check)).map((result) =>
      verdictOf(result, outcome),
    ),
    rawIsPartial,
    workers: workers.names,
    causes: causes.names as EndCause[],
  };
}

function verdictOf(
  { checker, verdict, summary, examples, metrics }: CheckResult,
  outcome: ScenarioOutcome | null,
): TimelineVerdict {
  const lists: readonly [TimelineVerdict["expected"], readonly string[] | undefined][] = [
    ["violation", outcome?.scenario.expect.violation],
    ["pass", outcome?.scenario.expect.pass],
    ["either", outcome?.scenario.expect.report],
  ];
  const expected = lists.find(([, names]) => names?.includes(checker) === true)?.[0] ?? "";
  const count = metrics.violations ?? (verdict === "violation" ? examples.length : 0);
  return { checker, verdict, expected, summary, count, examples };
}

const byName = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });
