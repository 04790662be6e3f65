import { writeFile } from "node:fs/promises";
import type { ScenarioOutcome } from "../../engine/outcome.js";
import { readHistory } from "../../history/read.js";
import { buildTimeline } from "./build-timeline.js";
import type { TimelineData } from "./data.js";
import { timelineHtml } from "./html.js";
import { pageParts } from "./page-parts.js";
import { rawRecords } from "./raw-records.js";

/** Draws a history file into one page. Throws `HistoryError` if the history cannot be judged. */
export async function writeTimeline(
  historyPath: string,
  pagePath: string,
  outcome: ScenarioOutcome | null = null,
): Promise<void> {
  const data = buildTimeline(await readHistory(historyPath), outcome);
  const { lines, partial } = await rawRecords(historyPath, convicting(data));
  await writeFile(pagePath, timelineHtml({ ...data, rawIsPartial: partial }, lines, await pageParts()));
}

/** The records that a reader wants to see first. */
function convicting({ verdicts, overlaps, holds }: TimelineData): Set<number> {
  const wanted = new Set<number>();
  for (const { examples } of verdicts)
    for (const { records } of examples) for (const i of records) wanted.add(i);
  for (const [, first, second] of overlaps)
    for (const place of [first, second])
      for (const i of holds[place]?.slice(9) ?? []) wanted.add(i as number);
  return wanted;
}
