import type {
  ActionResult,
  LockCollector,
  ObservedLockDetail,
  ObservedParticipant,
} from "@holdfast/collectors";
import { shownName, span, typedName, whoIs } from "@holdfast/collectors/internal";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { circlesAmong, standing } from "../../src/look/cycles.js";
import { printJsonLine } from "../../src/look/json.js";
import { matcherOf } from "../../src/look/reading.js";
import { forced, releaseNow } from "../../src/look/release.js";
import { cellsOf, table } from "../../src/look/table.js";
import { ageOf, ageText, bornMs, whoIsShort } from "../../src/look/words.js";
import { unsafeIn } from "./support.js";

const hostile = "a\u001b[31m\u202egro\u0007\u200b\\u{41}\n";

function person(known: Partial<ObservedParticipant> & { readonly entry: string }): ObservedParticipant {
  return {
    actor: known.entry,
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
    lease: "unknown",
    deadlineMs: null,
    token: null,
    library: "holdfast",
    ...known,
  };
}

function lock(
  key: string,
  holders: readonly ObservedParticipant[],
  waiters: readonly ObservedParticipant[],
  kind: ObservedLockDetail["kind"] = "mutex",
): ObservedLockDetail {
  return {
    key,
    kind,
    state: waiters.length > 0 ? "contended" : "held",
    holderCount: holders.length,
    waiterCount: waiters.length,
    waiterUnit: "participants",
    oldestWait: { atMs: null, provenance: "unknown" },
    oldestHold: { atMs: null, provenance: "unknown" },
    backend: "redis",
    libraries: [],
    holders,
    token: null,
    limit: null,
    version: "1",
    readMs: 0,
    denied: null,
    waiters,
    raw: [],
    explain: [],
  };
}

describe("names", () => {
  it("are printed without a character that a terminal would obey, and are found again as they were printed", () => {
    expect(shownName(hostile)).toBe("a\\u{1b}[31m\\u{202e}gro\\u{7}\\u{200b}\\u{5c}u{41}\\u{a}");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (some, other) => {
        for (const name of [some, other, `${hostile}${some}`]) {
          expect(unsafeIn(shownName(name))).toEqual([]);
          expect(typedName(shownName(name))).toBe(name);
        }
      }),
    );
  });

  it("stand in JSON as they are, written without a character that a terminal would obey", () => {
    const lines: string[] = [];
    printJsonLine({ out: (text) => lines.push(text) }, { name: hostile });
    expect(lines[0]?.endsWith("}\n")).toBe(true);
    expect(unsafeIn(lines.join(""))).toEqual([]);
    expect(JSON.parse(lines.join(""))).toEqual({ name: hostile });
  });

  it("fit a part of them, or a glob for the whole, also as they are printed", () => {
    const fits = (pattern: string, name: string): boolean => matcherOf(pattern)(name);
    expect(fits("rder", "orders/42")).toBe(true);
    expect(fits("orders/*", "orders/42")).toBe(true);
    expect(fits("orders/?", "orders/42")).toBe(false);
    expect(fits("*/4?", "orders/42")).toBe(true);
    expect(fits("a.c*", "abc")).toBe(false);
    expect(fits("\\u{1b}[31m", hostile)).toBe(true);
  });
});

describe("participants", () => {
  it("are called by their label, host and process, else by their address with what the backend knows them by", () => {
    const identity = { label: "billing", host: "h1", pid: 7 };
    expect(whoIs(person({ entry: "e", identity }))).toBe("billing (h1 pid 7)");
    expect(whoIsShort(person({ entry: "e", identity: { ...identity, label: null } }))).toBe("h1:7");
    expect(whoIs(person({ entry: "e", actor: "0x1f", address: "10.2.3.4", data: "10.2.3.4" }))).toBe(
      "10.2.3.4 (0x1f)",
    );
    expect(whoIsShort(person({ entry: "0c1b9c2e-3b0a-4c5d-9e6f-112233445566:57" }))).toBe("0c1b9c2e…:57");
  });

  it("have labels that cannot write to the terminal", () => {
    const one = person({ entry: "e", identity: { label: hostile, host: hostile, pid: 1 } });
    expect(unsafeIn(whoIs(one) + whoIsShort(one))).toEqual([]);
  });
});

describe("ages", () => {
  const beganMs = 1_000_000;
  const nowMs = beganMs + 500;

  it("say how they are known, and nothing where this command alone has seen the beginning", () => {
    const text = (
      atMs: number | null,
      provenance: "exact" | "at-least" | "unknown",
      born: number | null = null,
    ) => ageText(ageOf({ atMs, provenance }, nowMs, beganMs, born));
    expect(text(nowMs - 70_000, "exact")).toBe("1 min 10 s");
    expect(text(nowMs - 70_000, "at-least")).toBe("≥ 1 min 10 s");
    expect(text(beganMs + 1, "at-least")).toBe("unknown");
    expect(text(beganMs + 1, "at-least", nowMs - 70_000)).toBe("≤ 1 min 10 s");
    expect(text(null, "unknown")).toBe("unknown");
    expect(text(nowMs + 5_000, "exact")).toBe("0 s");
    expect(text(nowMs - 90_061_000, "exact")).toBe("1 d 1 h");
  });

  it("know when a holder's node was made from the words of ZooKeeper", () => {
    const holder = person({ entry: "_c_1-lock-0000000001" });
    const read = {
      ...lock("/a", [holder], []),
      raw: [{ name: "/a/_c_1-lock-0000000001", value: "czxid=0x1 ctime=17 mzxid=0x1" }],
    };
    expect(bornMs(read, holder)).toBe(17);
    expect(bornMs(lock("/a", [holder], []), holder)).toBeNull();
  });

  it("have one unit in a sentence", () => {
    expect([0.75, 850, 12_400, 300_000, 7_200_000].map(span)).toEqual([
      "0.8 ms",
      "850 ms",
      "12.4 s",
      "5 min",
      "2 h",
    ]);
  });
});

describe("tables", () => {
  const columns = [
    { title: "LOCK", text: ([name]: readonly string[]) => name ?? "", least: 10, middle: true },
    { title: "KIND", text: ([, kind]: readonly string[]) => kind ?? "", leaveOut: 2 },
    { title: "WAITERS", text: ([, , count]: readonly string[]) => count ?? "", right: true },
    { title: "NOTE", text: ([, , , note]: readonly string[]) => note ?? "", least: 8, leaveOut: 1 },
  ];
  const rows = [
    ["orders/42", "mutex", "3", "-"],
    ["/a/very/long/path/of/a/lock/that/ends/in/42", "read write lock", "12", "critical: mixed kinds"],
    ["鍵の名前が長い場合でも列は揃う", "mutex", "0", "-"],
  ];

  it("are as wide as their texts where there is room, numbers to the right", () => {
    const [title = "", first = ""] = table(columns, rows, Number.POSITIVE_INFINITY).split("\n");
    expect(title).toMatch(/^LOCK {41}KIND {13}WAITERS {2}NOTE$/);
    expect(first).toMatch(/^orders\/42 {36}mutex {18}3 {2}-$/);
  });

  it.each([80, 60, 40, 30])(
    "fit %i columns: names keep beginning and end, and the least needed columns go",
    (width) => {
      const text = table(columns, rows, width);
      for (const line of text.split("\n")) expect(cellsOf(line)).toBeLessThanOrEqual(width);
      expect(text).toMatch(/\/a\/.*…?.*42 /);
      expect(text).toContain("WAITERS");
      expect(text.includes("KIND")).toBe(width >= 60);
    },
  );
});

describe("circles of waits", () => {
  const redisson = (entry: string) =>
    person({ entry, session: entry.split(":")[0] ?? null, library: "redisson" });

  it("are certain among threads of Redisson, which do nothing while they wait", () => {
    const [a, b] = [redisson("a:1"), redisson("b:1")];
    const [cycle, ...more] = circlesAmong([lock("one", [a], [b]), lock("two", [b], [a])]);
    expect(more).toEqual([]);
    expect(cycle?.certainty).toBe("certain");
    // Two threads of one client count as two owners.
    const other = redisson("a:2");
    expect(circlesAmong([lock("one", [a], [other]), lock("two", [other], [a])])[0]?.certainty).toBe(
      "certain",
    );
    expect(
      cycle?.ring.map(({ from, lock: { key }, to }) => `${from.entry} ${key} ${to.entry}`).sort(),
    ).toEqual(["a:1 two b:1", "b:1 one a:1"]);
  });

  it("are possible where the owners are processes, each once however many tasks of theirs wait", () => {
    const of = (process: string, task: number) => person({ entry: `${process}:${task}`, session: process });
    const locks = [
      lock("one", [of("a", 1)], [of("b", 2), of("b", 3)]),
      lock("two", [of("b", 1)], [of("c", 1)]),
      lock("three", [of("c", 2)], [of("a", 2)]),
    ];
    const cycles = circlesAmong(locks);
    expect(cycles.map(({ certainty, ring }) => [certainty, ring.length])).toEqual([["possible", 3]]);
    expect(standing(cycles, locks)).toHaveLength(1);
    expect(standing(cycles, locks.slice(1))).toEqual([]);
  });

  it("are none at one semaphore, within one process, or in a queue", () => {
    const [a, b] = [redisson("a:1"), redisson("b:1")];
    expect(circlesAmong([lock("s", [a, b], [a, b], "semaphore")])).toEqual([]);
    const task = (entry: string) => person({ entry, session: "a" });
    expect(
      circlesAmong([lock("one", [task("1")], [task("2")]), lock("two", [task("3")], [task("4")])]),
    ).toEqual([]);
    expect(circlesAmong([lock("one", [a], [b]), lock("two", [a], [b])])).toEqual([]);
  });
});

describe("a release by force", () => {
  const viewOf = (parts: Partial<Pick<LockCollector, "act" | "detail">>) => ({
    address: "Redis at h1:6379",
    collector: { act: vi.fn(), detail: vi.fn(), ...parts } as Pick<LockCollector, "act" | "detail">,
  });
  const resultOf = (outcome: ActionResult["outcome"], ...effects: string[]): ActionResult => ({
    ...{ outcome, effects, before: null, after: null },
  });
  const permits = ["a", "b", "c"].map((entry) => person({ entry }));
  const pool = lock("pool", permits, [], "permit-semaphore");
  /** What is printed, and the exit code. */
  async function released(
    parts: Parameters<typeof viewOf>[0],
    one: ObservedLockDetail,
    { json = false, signal = new AbortController().signal } = {},
  ) {
    const text = { out: "", err: "" };
    const io = {
      signal,
      out: (more: string) => {
        text.out += more;
      },
      err: (more: string) => {
        text.err += more;
      },
    };
    return { code: await releaseNow(viewOf(parts), one, json, io), ...text };
  }

  it("of a lock that cannot be read ends as one whose backend is not reached, in a sentence with its address", async () => {
    const act = async () => resultOf("unread", "no connection");
    await expect(forced(viewOf({ act }), lock("a", [], []), true)).rejects.toMatchObject({
      code: "HF_BACKEND",
      message: expect.stringMatching(/Redis at h1:6379.*no connection/),
    });
  });

  it("of several permits that is refused in the middle says how many were given back", async () => {
    const act = vi.fn(async () => resultOf("conflict")).mockResolvedValueOnce(resultOf("done"));
    expect(await forced(viewOf({ act }), pool, false)).toMatchObject({ outcome: "conflict", ended: 1 });
  });

  it("of several permits that loses contact in the middle says how many were given back", async () => {
    const act = vi.fn(async () => resultOf("done"));
    act.mockResolvedValueOnce(resultOf("done")).mockRejectedValueOnce(new Error("no answer"));
    expect(await released({ act, detail: async () => pool }, pool)).toEqual({
      code: 1,
      out: "1 of 3 permits were given back, and then this failed: no answer\n",
      err: "",
    });
  });

  it("that is done is told as done, also where the lock cannot be read after it", async () => {
    const parts = {
      act: async () => resultOf("done", "It is freed."),
      detail: () => Promise.reject(new Error("no answer")),
    };
    const unread = "The lock could not be read after that: no answer.";
    const held = lock("a", [person({ entry: "a" })], []);
    expect(await released(parts, held)).toEqual({ code: 0, out: `Released. ${unread}\n`, err: "" });
    const { code, out, err } = await released(parts, held, { json: true });
    expect([code, err]).toEqual([0, `Released. ${unread}\n`]);
    expect(JSON.parse(out)).toMatchObject({
      outcome: "done",
      effects: ["It is freed.", unread],
      after: null,
    });
  });

  it("that is done is told as done, also where a signal ends the wait for the next holder", async () => {
    const waiting: ObservedLockDetail = {
      ...lock("a", [], [person({ entry: "b" })]),
      state: "idle",
    };
    const abort = new AbortController();
    const parts = {
      act: async () => resultOf("done"),
      detail: async () => {
        setImmediate(() => abort.abort("SIGINT"));
        return waiting;
      },
    };
    const { code, out } = await released(parts, waiting, { signal: abort.signal });
    expect([code, out]).toEqual([0, "Released. The lock is free.\n"]);
  });
});
