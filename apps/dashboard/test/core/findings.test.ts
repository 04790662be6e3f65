import { expect, it } from "vitest";
import { Observatory } from "../../src/core/observatory.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";

/** Counts how often all of its locks are read. */
class WalkedCollector extends FakeCollector {
  walks = 0;

  override figures(): ReturnType<FakeCollector["figures"]> {
    this.walks += 1;
    return super.figures();
  }
}

/** A lock that has been held for an hour at `nowMs`. */
const heldForAnHour = (nowMs: number) => ({
  key: "k",
  holders: [fakeParticipant({ entry: "h" })],
  oldestHold: { atMs: nowMs - 3_600_000, provenance: "exact" as const },
  readMs: nowMs,
});

it("long holds at Redis are looked for once in five seconds, however often findings are asked for", () => {
  let nowMs = 10_000_000;
  const collector = new WalkedCollector("redis");
  collector.put(heldForAnHour(nowMs));
  const observatory = new Observatory([{ name: "red", collector }], { now: () => nowMs });
  const walksAfter = (ms: number): number => {
    nowMs += ms;
    observatory.findings.refresh();
    return collector.walks;
  };
  const first = walksAfter(5_000);
  expect(first).toBeGreaterThan(0);
  expect(observatory.findings.rows().map(({ kind }) => kind)).toEqual(["long-hold"]);
  expect([walksAfter(1_000), walksAfter(3_999)]).toEqual([first, first]);
  expect(walksAfter(1)).toBe(first + 1);
  observatory.close();
});

it("a mute and its end are something different for open pages", async () => {
  let nowMs = 10_000_000;
  const collector = new FakeCollector("redis");
  collector.put(heldForAnHour(nowMs));
  const observatory = new Observatory([{ name: "red", collector }], { now: () => nowMs });
  const { findings } = observatory;
  findings.refresh();
  expect(findings.refresh()).toBe(false);
  const [row] = findings.rows();
  await findings.mute(row?.id ?? "", { reason: "known", by: "ada", untilMs: nowMs + 60_000 });
  expect([findings.refresh(), findings.refresh()]).toEqual([true, false]);
  nowMs += 60_000;
  expect([findings.refresh(), findings.refresh()]).toEqual([true, false]);
  expect(findings.rows()[0]?.muted).toBeNull();
  observatory.close();
});
