import { describe, expect, it } from "vitest";
import { duration, span } from "../../page/src/format/duration.js";
import { instant, timeOfDay } from "../../page/src/format/instant.js";
import { age } from "../../page/src/format/moment.js";
import { count, many, percent, rate } from "../../page/src/format/number.js";
import { middle, nameOf, short } from "../../page/src/format/participant.js";
import { isWithoutPlaces, looksForLocks } from "../../page/src/format/places.js";
import { lateSources, momentIn, standingOf } from "../../page/src/format/sources.js";
import { kindOf, waitersOf } from "../../page/src/format/words.js";
import type { Participant } from "../../src/contract/api.js";

const uuid = "3f2c91ab-77aa-4b1e-9d0c-000000000057";

function participant(changed: Partial<Participant>): Participant {
  return {
    entry: "_c_1-lock-0000000001",
    actor: null,
    session: null,
    identity: null,
    mayBeKept: false,
    address: null,
    data: null,
    mode: "exclusive",
    permits: 1,
    position: null,
    since: { atMs: null, provenance: "unknown" },
    holdCount: null,
    remainingMs: null,
    lease: "session",
    deadlineMs: null,
    token: null,
    library: "curator",
    ...changed,
  };
}

describe("ages", () => {
  it("are counted in whole seconds, minutes, hours and days", () => {
    expect([0, 999, 41_000, 61_000, 3_723_000, 86_400_000 * 3 + 14_700_000].map(duration)).toEqual([
      "0 s",
      "0 s",
      "41 s",
      "1 min 1 s",
      "1 h 2 min",
      "3 d 4 h",
    ]);
  });
  it("are never below nothing, however the durations differ", () => {
    expect(duration(-5000)).toBe("0 s");
    expect(span(-5000)).toBe("0 ms");
  });
  it("of an exact moment say so", () => {
    expect(age({ atMs: 1000, provenance: "exact" }, 42_000)).toMatchObject({ text: "41 s", note: "exact" });
  });
  it("that are only a lower bound say so", () => {
    expect(age({ atMs: 1000, provenance: "at-least" }, 42_000)).toMatchObject({
      text: "≥ 41 s",
      note: "first seen",
    });
  });
  it("that are not known are no number, even when a moment stands there", () => {
    expect(age({ atMs: null, provenance: "unknown" }, 42_000).text).toBe("unknown");
    expect(age({ atMs: 1000, provenance: "unknown" }, 42_000).text).toBe("unknown");
    expect(age({ atMs: null, provenance: "exact" }, 42_000).text).toBe("unknown");
  });
});

describe("lengths", () => {
  it("are given in one unit", () => {
    expect([850, 1000, 12_400, 45_600, 300_000, 10_800_000, 259_200_000].map(span)).toEqual([
      "850 ms",
      "1 s",
      "12.4 s",
      "46 s",
      "5 min",
      "3 h",
      "3 d",
    ]);
  });
});

describe("numbers", () => {
  it("are grouped, and rates below a hundred have a decimal", () => {
    expect(count(8412)).toBe("8,412");
    expect(rate(12.54)).toBe("12.5");
    expect(rate(1234.5)).toBe("1,235");
    expect([many(1, "lock"), many(2, "lock"), many(1204, "entry", "entries")]).toEqual([
      "1 lock",
      "2 locks",
      "1,204 entries",
    ]);
  });
  it("call a coverage complete only when it is", () => {
    expect([1, 0.9999, 0.63, 0.001, 0].map(percent)).toEqual(["100 %", "99 %", "63 %", "< 1 %", "0 %"]);
  });
});

describe("instants", () => {
  const atMs = Date.UTC(2026, 10, 21, 14, 22, 10, 4);
  it("are written with date, milliseconds and the zone", () => {
    expect(instant(atMs, "utc")).toBe("2026-11-21 14:22:10.004Z");
    expect(timeOfDay(atMs, "utc")).toBe("14:22:10");
  });
  it("write midnight as 00, not 24", () => {
    expect(timeOfDay(Date.UTC(2026, 0, 1), "utc")).toBe("00:00:00");
  });
});

describe("names of participants", () => {
  it("put the label first and keep what else is known", () => {
    const name = nameOf(
      participant({
        identity: { label: "pay-7", host: "pay-7.prod", pid: 812 },
        address: "10.2.3.4:51234",
        data: "10.2.3.4",
      }),
    );
    expect(name).toEqual({ main: "pay-7", more: ["10.2.3.4:51234", "pay-7.prod", "pid 812"] });
  });
  it("fall back to the address, to the data, to the actor, and at last to the entry", () => {
    expect(nameOf(participant({ address: "10.0.0.1:5", actor: "0x1" })).main).toBe("10.0.0.1:5");
    expect(nameOf(participant({ data: "job-8", actor: "0x1" })).main).toBe("job-8");
    expect(nameOf(participant({ actor: `${uuid}:57` })).main).toBe("3f2c91ab…:57");
    expect(nameOf(participant({}))).toEqual({ main: "_c_1-lock-0000000001", more: [] });
  });
  it("put the host first where there is no label, and leave out the data from which it was read", () => {
    const identity = { label: null, host: "vm", pid: 7 };
    expect(
      nameOf(participant({ identity, address: "10.0.0.1", data: '10.0.0.1 {"host":"vm","pid":7}' })),
    ).toEqual({
      main: "vm",
      more: ["10.0.0.1", "pid 7"],
    });
  });
  it("say nothing twice", () => {
    expect(
      nameOf(participant({ data: "job-8", identity: { label: "job-8", host: null, pid: null } })),
    ).toEqual({
      main: "job-8",
      more: [],
    });
  });
});

describe("long texts", () => {
  it("keep beginning and end, and exactly the length", () => {
    const key = `/locks/${"x".repeat(100)}-end`;
    expect(middle(key, 40)).toHaveLength(40);
    expect(middle(key, 40)).toMatch(/^\/locks\/x+…x+-end$/);
    expect(middle("/locks/a", 40)).toBe("/locks/a");
  });
  it("shorten uuids and nothing else", () => {
    expect(short(`${uuid}:57`)).toBe("3f2c91ab…:57");
    expect(short("0x1000014f3a0000")).toBe("0x1000014f3a0000");
  });
});

describe("waiters", () => {
  it("are counted in the unit in which they can be seen", () => {
    expect(waitersOf({ waiterCount: 61, waiterUnit: "participants" }).text).toBe("61");
    expect(waitersOf({ waiterCount: 18, waiterUnit: "connections" }).text).toBe("at least 18");
    expect(waitersOf({ waiterCount: 0, waiterUnit: "hidden" }).text).toBe("hidden");
  });
  it("belong to a lock whose kind may be unknown", () => {
    expect(kindOf({ kind: null })).toBe("unknown kind");
    expect(kindOf({ kind: "fair-mutex" })).toBe("fair mutex");
  });
});

describe("places", () => {
  const source = (name: string, state: string) => ({
    source: name,
    state,
    coverage: 0,
    lastSuccessMs: null,
    nextTryMs: null,
    cost: null,
    message: null,
  });
  it("are missing where nothing goes through any, whatever else is on", () => {
    expect(looksForLocks({ sources: [source("scan", "off"), source("pubsub", "ok")] })).toBe(false);
    expect(looksForLocks({ sources: [source("sessions", "off"), source("compare", "off")] })).toBe(false);
    expect(looksForLocks({ sources: [source("watch /locks", "syncing"), source("sessions", "off")] })).toBe(
      true,
    );
  });
  it("are not proposed for a source that needs none", () => {
    expect(
      [source("scan", "off"), source("sessions", "off"), source("scan", "ok")].map(isWithoutPlaces),
    ).toEqual([true, false, false]);
  });
});

describe("sources", () => {
  const source = (name: string, changed = {}) => ({
    source: name,
    state: "starting",
    coverage: 0,
    lastSuccessMs: null,
    nextTryMs: null,
    cost: null,
    message: null,
    ...changed,
  });
  it("that work only for an open page, or now and then, are not shown as starting for ever", () => {
    const idle = (name: string, changed = {}) => standingOf(source(name, changed)).idle;
    expect(["compare", "sessions", "rows", "servers"].map((name) => idle(name))).toEqual([
      "not due yet",
      "not asked yet",
      "no rows on screen",
      "not asked yet",
    ]);
    expect(["watch /locks", "scan", "pubsub"].map((name) => idle(name))).toEqual([null, null, null]);
    expect(idle("compare", { state: "ok", lastSuccessMs: 1 })).toBeNull();
    expect(idle("sessions", { state: "down", message: "refused" })).toBeNull();
  });
  it("are named as late while they are at work, and not while they are idle by design", () => {
    const late = (...sources: ReturnType<typeof source>[]): string[] =>
      lateSources([{ name: "red", sources }]);
    expect(late(source("scan"), source("compare"), source("rows"))).toEqual([
      "scan of red is starting (0 %)",
    ]);
    expect(late(source("sessions", { state: "down", message: "refused" }))).toEqual([
      "sessions of red is down (0 %)",
    ]);
    expect(late(source("scan", { state: "ok" }), source("compare", { state: "off" }))).toEqual([]);
  });
  it("have a share only of what they can have seen a part of", () => {
    const coverage = (name: string, changed = {}) => standingOf(source(name, changed)).coverage;
    const asked = { state: "ok", lastSuccessMs: 1 };
    expect(coverage("watch /locks", { coverage: 0.5 })).toBe("50 %");
    expect(coverage("compare", asked)).toBeNull();
    expect(coverage("sessions")).toBeNull();
    expect(coverage("sessions", { state: "off" })).toBeNull();
    expect(coverage("sessions", asked)).toBe("0 % of the servers tell");
    expect(coverage("rows", asked)).toBeNull();
  });
  it("have moments among their facts, which are recognised by their form", () => {
    expect(momentIn("2026-11-21T23:13:59.000Z")).toBe(Date.UTC(2026, 10, 21, 23, 13, 59));
    expect([momentIn("7.0.15"), momentIn("2026-11-21"), momentIn("none")]).toEqual([null, null, null]);
  });
});
