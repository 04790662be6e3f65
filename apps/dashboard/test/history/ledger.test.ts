import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { groupByRules } from "../../src/exporter/group-rules.js";
import { Boards } from "../../src/history/boards.js";
import {
  bytesOf,
  checkDatabase,
  closeDatabase,
  type Database,
  openDatabase,
  RefusedFileError,
} from "../../src/history/database.js";
import { Ledger } from "../../src/history/ledger.js";
import type { Change, KnownOwner, RankingQuestion, StoryQuestion } from "../../src/history/messages.js";
import { leftHolds } from "../../src/history/open-holds.js";
import { storyOf } from "../../src/history/story.js";

const hourMs = 3_600_000;
const megabyte = 1_048_576;
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-history-"));
  file = join(folder, "history.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** In the middle of an hour that is long over. */
const t0 = 1_700_000_000_000 - (1_700_000_000_000 % hourMs) + 5 * 60_000;
const billing: KnownOwner = { session: "0x1", label: "billing", host: "h1", pid: 7, token: "0x5" };
const at = (key: string, entry = "e1") => ({ cluster: "zoo", backend: "zookeeper" as const, key, entry });

function begun(key: string, more: Partial<Extract<Change, { type: "begun" }>> = {}): Change {
  const known = { sinceMs: t0, exact: true, waitedMs: 0, found: false, owner: billing };
  return { type: "begun", ...at(key), ...known, ...more };
}

function ended(key: string, atMs: number, more: Partial<Extract<Change, { type: "ended" }>> = {}): Change {
  return {
    ...{ type: "ended", ...at(key), atMs, seen: true, heldMs: null },
    ...{ reason: "released", owner: null, ...more },
  };
}

class Kept implements Disposable {
  readonly ledger: Ledger;
  readonly boards: Boards;

  constructor(nowMs = t0, maxBytes = 32 * megabyte) {
    this.ledger = new Ledger(file, openDatabase(file, maxBytes), groupByRules([]), nowMs);
    this.boards = new Boards(this.ledger);
  }

  record(nowMs: number, ...changes: Change[]): void {
    this.ledger.record(changes, 0, nowMs, (level) => this.boards.turned(level));
  }

  story(key: string, more: Partial<StoryQuestion> = {}) {
    const range = { fromMs: t0 - hourMs, toMs: t0 + hourMs, limit: 100, after: null };
    return storyOf(this.ledger, { ask: "story", cluster: "zoo", key, ...range, ...more });
  }

  async rank(nowMs: number, more: Partial<RankingQuestion> = {}) {
    const question = {
      ...({ ask: "ranking", kind: "lock", window: "day", sort: "held", limit: 10 } as const),
      ...{ cluster: null, group: null, ...more },
    };
    await expect.poll(() => this.boards.rank(question, nowMs)).not.toBeNull();
    return this.boards.rank(question, nowMs)?.rows ?? [];
  }

  [Symbol.dispose](): void {
    this.boards.end();
    this.ledger.close();
  }
}

describe("the history of a lock", () => {
  it("has of each hold who had it, how long it was waited for, how long it lasted and why it ended", () => {
    using kept = new Kept();
    kept.record(t0, begun("/order/1", { waitedMs: 250 }));
    kept.record(t0 + 900, ended("/order/1", t0 + 900, { reason: "expired" }));
    expect(kept.story("/order/1")).toMatchObject({
      ...{ open: [], next: null, firstSeenMs: t0 },
      holds: [
        {
          ...{ entry: "e1", owner: billing, sinceMs: t0, exact: true, waitedMs: 250 },
          ...{ endMs: t0 + 900, reason: "expired", heldMs: 900 },
        },
      ],
      steps: [{ grants: 1, ends: 1, lost: 1, holdMs: { max: 900 }, waitMs: { max: 250 } }],
    });
  });

  it("shows what goes on as open, and what began in the range and ended after it", () => {
    using kept = new Kept();
    kept.record(t0, begun("/a"), begun("/b"));
    kept.record(t0 + 1_000, ended("/a", t0 + 5_000));
    expect(kept.story("/b").open).toMatchObject([{ entry: "e1", endMs: null }]);
    expect(kept.story("/a", { toMs: t0 + 2_000 }).holds).toMatchObject([{ endMs: t0 + 5_000 }]);
    expect(kept.story("/a", { toMs: t0 }).holds).toEqual([]);
  });

  it("costs no more for a range of many years than for a month", () => {
    using kept = new Kept();
    kept.record(t0, begun("/a"), ended("/a", t0 + 10));
    const since = process.cpuUsage();
    expect(kept.story("/a", { fromMs: 0 })).toMatchObject({
      holds: [{ endMs: t0 + 10 }],
      steps: [{ ends: 1 }],
    });
    const { user, system } = process.cpuUsage(since);
    // A lookup for each hour of these years would be half a million lookups.
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });

  it("comes in pages, each hold once", () => {
    using kept = new Kept();
    for (let n = 0; n < 25; n++) {
      const entry = `e${n}`;
      kept.record(t0, begun("/p", { entry }), ended("/p", t0 + 1_000 + (n >> 2), { entry }));
    }
    const seen: string[] = [];
    let after: StoryQuestion["after"] = null;
    do {
      const page = kept.story("/p", { limit: 4, after });
      seen.push(...page.holds.map(({ entry }) => entry));
      after = page.next as StoryQuestion["after"];
    } while (after !== null);
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
  });

  it("takes in later why a hold ended, and counts a loss then; but not while the same owner has it again", () => {
    using kept = new Kept();
    kept.record(t0, begun("/x"), ended("/x", t0 + 100, { reason: "unknown" }));
    kept.record(t0 + 200, { type: "explained", ...at("/x"), reason: "session-ended" });
    expect(kept.story("/x")).toMatchObject({ holds: [{ reason: "session-ended" }], steps: [{ lost: 1 }] });
    kept.record(t0 + 300, begun("/x"));
    kept.record(t0 + 400, { type: "explained", ...at("/x"), reason: "forced" });
    expect(kept.story("/x").holds).toMatchObject([{ reason: "session-ended" }]);
  });

  it("names an owner that became known after the grant", async () => {
    using kept = new Kept();
    kept.record(t0, begun("/late", { owner: null }));
    kept.record(t0 + 10, { type: "identified", ...at("/late"), owner: billing });
    kept.record(t0 + 500, ended("/late", t0 + 500));
    expect(kept.story("/late").holds).toMatchObject([{ owner: billing }]);
    expect(await kept.rank(t0 + 600, { kind: "owner" })).toMatchObject([
      { name: "billing", grants: 1, ends: 1, heldMs: 500 },
    ]);
  });

  it("counts for a client of Redis also what its session did before it was known whose it is", async () => {
    using kept = new Kept();
    const backend = "redis";
    const unknown = { ...billing, label: null, host: null, pid: null };
    kept.record(t0, begun("/a", { backend, owner: unknown, waitedMs: 40 }));
    kept.record(t0, ended("/a", t0 + 300, { backend, owner: unknown }));
    kept.record(t0, begun("/b", { backend, owner: unknown }));
    expect(await kept.rank(t0 + 400, { kind: "owner" })).toMatchObject([{ name: "0x1", grants: 2 }]);
    kept.record(t0 + 500, { type: "identified", ...at("/b"), backend, owner: billing });
    kept.record(t0 + 900, ended("/b", t0 + 900, { backend }));
    const whole = [{ name: "billing", grants: 2, ends: 2, heldMs: 1_200, waits: 1 }];
    expect(await kept.rank(t0 + 1_000, { kind: "owner" })).toMatchObject(whole);
    kept[Symbol.dispose]();
    using again = new Kept(t0 + 2_000);
    expect(await again.rank(t0 + 2_000, { kind: "owner" })).toMatchObject(whole);
  });

  it("on ZooKeeper, where one session may use many labels, a hold without one is not given that of another", async () => {
    using kept = new Kept();
    const plain = { ...billing, label: null, host: null, pid: null };
    kept.record(t0, begun("/labelled"), begun("/plain", { owner: plain }));
    expect(kept.story("/plain").open).toMatchObject([{ owner: { label: null } }]);
    const rows = await kept.rank(t0 + 10, { kind: "owner", sort: "grants" });
    expect(rows.map(({ name, grants }) => [name, grants]).toSorted()).toEqual([
      ["0x1", 1],
      ["billing", 1],
    ]);
  });

  it("takes names of any text: half characters, zeros, and long ones that differ at their end", async () => {
    using kept = new Kept();
    const half = "\ud83d";
    const names = [`/a${half}`, "/z\0x", "/z\0y", `/${"🔒".repeat(600)}`, `/x${"🔒".repeat(600)}`];
    const owner = { session: `s${half}`, label: `l${half}\0`, host: null, pid: null, token: half };
    for (const name of names)
      kept.record(t0, begun(name, { ...at(name, `e${half}\0`), owner }), ended("/other", t0));
    expect(kept.ledger.status.failure).toBeNull();
    for (const name of names) expect(kept.story(name).open).toMatchObject([{ owner: { label: "l�␀" } }]);
    expect(leftHolds(kept.ledger.db)).toHaveLength(names.length);
    for (const name of names) kept.record(t0 + 9, ended(name, t0 + 9, at(name, `e${half}\0`)));
    for (const name of names)
      expect(kept.story(name)).toMatchObject({ open: [], holds: [{ owner: { session: "s�" } }] });
    expect(await kept.rank(t0 + 10, { kind: "owner" })).toMatchObject([{ name: "l�␀", ends: names.length }]);
  });
});

describe("after a restart", () => {
  it("a hold that is surely the same keeps its beginning and its owner, and its length is measured from there", () => {
    {
      using kept = new Kept();
      kept.record(t0, begun("/old"));
    }
    using kept = new Kept(t0 + hourMs);
    expect(leftHolds(kept.ledger.db)).toEqual([
      { cluster: "zoo", key: "/old", entry: "e1", token: "0x5", sinceMs: t0 },
    ]);
    const found = { found: true, exact: false, waitedMs: null, owner: null };
    kept.record(t0 + hourMs, begun("/old", { ...found, sinceMs: t0 }));
    kept.record(t0 + hourMs, { type: "complete", cluster: "zoo", atMs: t0 + hourMs });
    expect(kept.story("/old").open).toMatchObject([{ sinceMs: t0, owner: billing }]);
    kept.record(t0 + hourMs + 1, ended("/old", t0 + hourMs + 1));
    expect(kept.story("/old", { toMs: t0 + 2 * hourMs }).holds).toMatchObject([
      { sinceMs: t0, heldMs: hourMs + 1, reason: "released" },
    ]);
  });

  it.each([
    ["is longer than the file keeps it", `/jobs/${"x".repeat(600)}`],
    ["has a zero in it", "order:\0a"],
  ])("a hold is met again also where the name of its lock %s", (_, key) => {
    {
      using kept = new Kept();
      kept.record(t0, begun(key));
    }
    using kept = new Kept(t0 + hourMs);
    const found = { found: true, exact: false, waitedMs: null, owner: null };
    kept.record(t0 + hourMs, begun(key, { ...found, sinceMs: t0 }));
    expect(kept.story(key).open).toMatchObject([{ sinceMs: t0, owner: billing }]);
    kept.record(t0 + hourMs, { type: "complete", cluster: "zoo", atMs: t0 + hourMs });
    expect(kept.story(key)).toMatchObject({ open: [{ sinceMs: t0, owner: billing }], holds: [] });
    kept.record(t0 + hourMs + 1, ended(key, t0 + hourMs + 1));
    expect(kept.story(key, { toMs: t0 + 2 * hourMs })).toMatchObject({
      open: [],
      holds: [{ sinceMs: t0, heldMs: hourMs + 1, reason: "released" }],
    });
  });

  it("changes behind `complete` in one message are about holds that are known", () => {
    {
      using kept = new Kept();
      kept.record(t0, begun("/gone"), begun("/kept"));
    }
    using kept = new Kept(t0 + hourMs);
    kept.record(t0 + hourMs, begun("/kept", { found: true }));
    const complete: Change = { type: "complete", cluster: "zoo", atMs: t0 + hourMs };
    kept.record(t0 + hourMs, complete, ended("/kept", t0 + hourMs));
    expect(kept.story("/kept", { toMs: t0 + 2 * hourMs })).toMatchObject({
      open: [],
      holds: [{ owner: billing, sinceMs: t0 }],
    });
    expect(kept.story("/gone", { toMs: t0 + 2 * hourMs })).toMatchObject({
      open: [],
      holds: [{ reason: "unknown" }],
    });
  });

  it("what is not held any more has ended for an unknown reason, after no known time", () => {
    {
      using kept = new Kept();
      kept.record(t0, begun("/gone"), begun("/other"));
    }
    using kept = new Kept(t0 + 1_000);
    // A younger hold of the same entry is another grant.
    kept.record(t0 + 1_000, begun("/other", { found: true, exact: false, sinceMs: t0 + 1_000 }));
    kept.record(t0 + 2_000, { type: "complete", cluster: "zoo", atMs: t0 + 2_000 });
    for (const key of ["/gone", "/other"])
      expect(kept.story(key).holds).toMatchObject([{ reason: "unknown", heldMs: null }]);
    expect(kept.story("/gone").open).toEqual([]);
    expect(kept.story("/other").open).toMatchObject([{ sinceMs: t0 + 1_000 }]);
  });

  it("the ranking is as it was, of the running hour as of those before", async () => {
    const now = t0 + 3 * hourMs;
    {
      using kept = new Kept();
      kept.record(t0, begun("/r/1"), ended("/r/1", t0 + 7_000));
      kept.record(now, begun("/r/2"), ended("/r/2", now, { heldMs: 3_000 }));
      expect(await kept.rank(now)).toMatchObject([{ name: "/r/1" }, { name: "/r/2" }]);
    }
    using kept = new Kept(now + 1);
    expect(await kept.rank(now + 1)).toMatchObject([
      { name: "/r/1", heldMs: 7_000, holdMs: { max: 7_000 } },
      { name: "/r/2", heldMs: 3_000 },
    ]);
    expect(await kept.rank(now + 1, { window: "hour" })).toMatchObject([{ name: "/r/2" }]);
  });

  it("a group has still what was counted of it in the running hour", async () => {
    {
      using kept = new Kept();
      kept.record(t0, begun("/r/1"), ended("/r/1", t0 + 7_000));
    }
    using kept = new Kept(t0 + 8_000);
    kept.record(t0 + 8_000, begun("/r/1"), ended("/r/1", t0 + 9_000));
    expect(await kept.rank(t0 + 9_000, { kind: "group" })).toMatchObject([{ grants: 2, ends: 2 }]);
  });
});

describe("the ranking", () => {
  it("goes by what is asked for: held, longest, slowest, waits, contention and losses", async () => {
    using kept = new Kept();
    for (let n = 0; n < 10; n++) kept.record(t0, begun("/many/1"), ended("/many/1", t0, { heldMs: 1_000 }));
    kept.record(
      t0,
      begun("/long/1", { waitedMs: 90 }),
      ended("/long/1", t0, { heldMs: 8_000, reason: "expired" }),
    );
    kept.record(t0, { type: "waiting", ...at("/queue/1"), waiters: 3, forMs: 5_000 });
    const first = async (more: Partial<RankingQuestion>) => (await kept.rank(t0 + 1_000, more))[0]?.name;
    expect(await first({ sort: "held" })).toBe("/many/1");
    expect(await first({ sort: "hold-max" })).toBe("/long/1");
    expect(await first({ sort: "hold-p99" })).toBe("/long/1");
    expect(await first({ sort: "wait-max" })).toBe("/long/1");
    expect(await first({ sort: "contended" })).toBe("/queue/1");
    expect(await first({ sort: "lost" })).toBe("/long/1");
    expect(await first({ sort: "grants" })).toBe("/many/1");
    expect(await first({ kind: "group", sort: "held" })).toBe("many/*");
    expect(await first({ kind: "owner", sort: "held" })).toBe("billing");
    expect(await kept.rank(t0, { group: "long/*" })).toMatchObject([{ name: "/long/1", group: "long/*" }]);
    expect(await kept.rank(t0, { cluster: "other" })).toEqual([]);
  });

  it("counts holds that go on, for as long as they are in the window", async () => {
    using kept = new Kept();
    kept.record(t0, begun("/leader"));
    const now = t0 + 50 * hourMs;
    kept.record(now, begun("/short"), ended("/short", now, { heldMs: 60_000 }));
    const [first] = await kept.rank(now);
    expect(first).toMatchObject({ name: "/leader", open: 1, holdMs: { max: 50 * hourMs } });
    expect(first?.heldMs).toBeLessThanOrEqual(25 * hourMs);
    expect((await kept.rank(now, { kind: "owner" }))[0]).toMatchObject({ name: "billing", open: 1 });
  });

  it("leaves out what was before the window, though the process has run all the time", async () => {
    using kept = new Kept();
    kept.record(t0, begun("/w"), ended("/w", t0, { heldMs: 5_000 }));
    expect(await kept.rank(t0, { window: "hour" })).toMatchObject([{ name: "/w" }]);
    const later = t0 + 2 * hourMs;
    kept.record(later, begun("/v"), ended("/v", later, { heldMs: 1_000 }));
    await expect
      .poll(async () => (await kept.rank(later, { window: "hour" })).map(({ name }) => name))
      .toEqual(["/v"]);
    expect((await kept.rank(later)).map(({ name }) => name)).toEqual(["/w", "/v"]);
  });
});

describe("a clock that was ahead and is set back", () => {
  it("has the ranking and the history of a lock count in the present stretch again at once", async () => {
    using kept = new Kept(t0 + 8 * hourMs);
    kept.record(t0 + 8 * hourMs);
    kept.record(t0, begun("/a"));
    kept.record(t0 + 1_000, ended("/a", t0 + 1_000), begun("/b", { sinceMs: t0 + 1_000 }));
    expect(kept.story("/a").steps).toMatchObject([{ grants: 1, ends: 1 }]);
    const [first] = await kept.rank(t0 + 60_000, { window: "hour" });
    expect(first).toMatchObject({ name: "/b", heldMs: 59_000 });
  });

  it("leaves what was counted before in the stretches that come round again", async () => {
    using kept = new Kept();
    kept.record(t0, begun("/a"), ended("/a", t0));
    kept.record(t0 + hourMs, begun("/a"), ended("/a", t0 + hourMs));
    kept.record(t0, begun("/a"), ended("/a", t0));
    kept.record(t0 + hourMs, begun("/a"), ended("/a", t0 + hourMs));
    expect(kept.story("/a", { toMs: t0 + 2 * hourMs }).steps).toMatchObject([{ grants: 2 }, { grants: 2 }]);
    await expect
      .poll(async () => (await kept.rank(t0 + hourMs, { sort: "grants" }))[0])
      .toMatchObject({ name: "/a", grants: 4 });
  });
});

describe("the size of the store", () => {
  it("keeps nothing for more than 30 days, names included, however much room there is", () => {
    using kept = new Kept();
    kept.record(t0, begun("/users/alice"));
    kept.record(t0 + 1_000, ended("/users/alice", t0 + 1_000));
    const later = t0 + 31 * 24 * hourMs;
    for (let step = 0; step < 10; step++) kept.record(later + step * hourMs);
    const left = ["hold", "stat", "subject"].map((table) =>
      kept.ledger.db.prepare(`SELECT * FROM ${table}`).all(),
    );
    expect(JSON.stringify(left)).not.toMatch(/alice|billing/);
  });

  it("loses no newer hold when its oldest one has become 30 days old", () => {
    using kept = new Kept();
    kept.record(t0, begun("/old"), ended("/old", t0));
    const later = t0 + 30 * 24 * hourMs + hourMs;
    kept.record(later - hourMs / 2, begun("/new", { sinceMs: later - hourMs / 2 }), ended("/new", later));
    for (let step = 0; step < 10; step++) kept.record(later + step);
    const left = kept.ledger.db.prepare("SELECT end_ms AS endMs FROM hold").all();
    expect(left).toMatchObject([{ endMs: later }]);
  });

  it("keeps no hold for more than 30 days because of one that ended while the clock was ahead", () => {
    using kept = new Kept();
    const aheadMs = t0 + 365 * 24 * hourMs;
    kept.record(aheadMs, begun("/ahead", { sinceMs: aheadMs }), ended("/ahead", aheadMs));
    kept.record(t0, begun("/old"), ended("/old", t0));
    const left = () => kept.ledger.db.prepare("SELECT end_ms AS endMs FROM hold ORDER BY id").all();
    // It may as well be the present clock that is wrong.
    for (let step = 0; step < 10; step++) kept.record(t0 + hourMs + step);
    expect(left()).toMatchObject([{ endMs: aheadMs }, { endMs: t0 }]);
    const later = t0 + 30 * 24 * hourMs + hourMs;
    kept.record(later - hourMs / 2, begun("/new", { sinceMs: later - hourMs / 2 }), ended("/new", later));
    for (let step = 0; step < 10; step++) kept.record(later + step);
    expect(left()).toMatchObject([{ endMs: later }]);
  });

  it("is never passed by database and log together, however much is written", async () => {
    const maxBytes = 16 * megabyte;
    const batches = 100;
    using kept = new Kept(t0, maxBytes);
    let most = 0;
    // Several times what fits, over a day. Most locks have their own names.
    for (let batch = 0; batch < batches; batch++) {
      const nowMs = t0 + batch * (hourMs / 4);
      const changes: Change[] = [];
      for (let n = 0; n < 500; n++) {
        const key = `/job/${n % 3 === 0 ? n : batch * 1_000 + n}`;
        const entry = `_c_${"x".repeat(40)}-${batch}-${n}`;
        changes.push(begun(key, { entry, sinceMs: nowMs }), ended(key, nowMs + n, { entry, heldMs: n }));
      }
      kept.record(nowMs, ...changes);
      most = Math.max(most, bytesOf(file));
    }
    expect(kept.ledger.status.failure).toBeNull();
    expect(most).toBeLessThanOrEqual(maxBytes);
    expect(most).toBeGreaterThan(maxBytes / 2);
    const { holdsSinceMs, hoursSinceMs } = kept.ledger.status;
    const now = t0 + (batches - 1) * (hourMs / 4);
    expect(holdsSinceMs).toBeGreaterThan(t0);
    // Groups are few, so they are kept longest.
    expect(hoursSinceMs).toBeLessThanOrEqual(t0);
    // The newest hold is kept.
    expect(kept.story("/job/3", { fromMs: now - 1, toMs: now + hourMs }).holds).toHaveLength(1);
  });

  it("is given back where it was larger before", () => {
    {
      using kept = new Kept(t0, 64 * megabyte);
      const rows = Array.from({ length: 60_000 }, (_, n) => [n + 1, "x".repeat(400)]);
      kept.ledger.db
        .prepare(
          `INSERT INTO hold SELECT value->>0, 1, value->>1, NULL, NULL, NULL, 0, NULL, ${t0}, 0, NULL FROM json_each(?)`,
        )
        .run(JSON.stringify(rows));
    }
    expect(statSync(file).size).toBeGreaterThan(20 * megabyte);
    using kept = new Kept(t0, 16 * megabyte);
    for (let n = 0; n < 200 && bytesOf(file) > 16 * megabyte; n++) kept.record(t0 + n, begun("/one"));
    expect(bytesOf(file)).toBeLessThanOrEqual(16 * megabyte);
  });
});

describe("a disk that is full", () => {
  function onFullDisk() {
    const opened = openDatabase(file, 32 * megabyte);
    const disk = { full: false, unreadable: false };
    const readable = (): void => {
      if (disk.unreadable) throw Object.assign(new Error("no"), { code: "SQLITE_IOERR_READ" });
    };
    const db: Database = {
      prepare: (sql) => {
        readable();
        const statement = opened.db.prepare(sql);
        return {
          run: (...values) => statement.run(...values),
          get: (...values) => {
            readable();
            return statement.get(...values);
          },
          all: (...values) => {
            readable();
            return statement.all(...values);
          },
          iterate: (...values) => statement.iterate(...values),
        };
      },
      close: () => opened.db.close(),
      exec: (sql) => {
        if (disk.full && sql === "COMMIT") throw Object.assign(new Error("no"), { code: "SQLITE_FULL" });
        opened.db.exec(sql);
      },
    };
    const ledger = new Ledger(file, { ...opened, db }, groupByRules([]), t0);
    const recordAt = (nowMs: number, ...changes: Change[]) => ledger.record(changes, 0, nowMs, () => {});
    const record = (...changes: Change[]) => recordAt(t0, ...changes);
    const story = () =>
      storyOf(ledger, {
        ...{ ask: "story", cluster: "zoo", key: "/full", limit: 500, after: null },
        ...{ fromMs: t0 - hourMs, toMs: t0 + hourMs },
      });
    return { disk, ledger, record, recordAt, story };
  }
  const thousand = (change: (entry: string) => Change, from: number): Change[] =>
    Array.from({ length: 1_000 }, (_, at) => change(`x${from + at}`));

  it("is a status and holds nothing up; what fits into memory is written when there is room again", () => {
    const { disk, ledger, record, story } = onFullDisk();
    record(begun("/full"));
    disk.full = true;
    record(ended("/full", t0 + 10), begun("/full", { entry: "e2" }));
    expect(ledger.status.failure).toBe("there is no room: the disk is full");
    expect(story().open).toMatchObject([{ entry: "e2" }]);
    // More holds than the ledger keeps for a later write.
    for (let n = 0; n < 55_000; n += 1_000) record(...thousand((entry) => ended("/full", t0, { entry }), n));
    expect(ledger.status.dropped).toBeGreaterThan(5_000);
    expect(ledger.status.dropped).toBeLessThan(7_000);
    disk.full = false;
    record();
    expect(ledger.status.failure).toBeNull();
    expect(story().holds).toHaveLength(500);
    expect(story().open).toMatchObject([{ entry: "e2" }]);
    ledger.close();
  });

  it("while old locks are deleted: a lock that is new meanwhile is written once there is room again", () => {
    const { disk, ledger, record, recordAt } = onFullDisk();
    record(begun("/old"), ended("/old", t0 + 10));
    const laterMs = t0 + 62 * 24 * hourMs;
    const subjects = (): unknown[] => ledger.db.prepare("SELECT name FROM subject WHERE kind = 0").all();
    disk.full = true;
    for (let n = 0; n < 20 && subjects().length > 0; n++) recordAt(laterMs + n, begun("/new"));
    expect(subjects()).toEqual([]);
    disk.full = false;
    recordAt(laterMs + 100, begun("/new", { entry: "e2" }));
    expect(ledger.status.failure).toBeNull();
    expect(subjects()).toEqual([{ name: "/new" }]);
    ledger.close();
  });

  it("on which as many holds begin as may wait: what ends from then on is not held when there is room again", () => {
    const { disk, ledger, record, story } = onFullDisk();
    record(begun("/full"));
    disk.full = true;
    for (let n = 0; n < 50_000; n += 1_000) record(...thousand((entry) => begun("/full", { entry }), n));
    record(begun("/full", { entry: "one too many" }), ended("/full", t0 + 10));
    expect(ledger.status.dropped).toBe(2);
    for (let n = 0; n < 50_000; n += 1_000) record(...thousand((entry) => ended("/full", t0, { entry }), n));
    disk.full = false;
    record();
    expect(story().open).toEqual([]);
    expect(leftHolds(ledger.db)).toEqual([]);
    ledger.close();
  });

  it("or that cannot be read is a status too: the changes that need it are counted as lost, and later ones are recorded", () => {
    const { disk, ledger, record, story } = onFullDisk();
    record(begun("/full"));
    const { usedBytes } = ledger.status;
    disk.unreadable = true;
    record(ended("/full", t0 + 10), begun("/full", { entry: "e2" }));
    const failure = "the disk cannot be written or read";
    expect(ledger.status).toMatchObject({ failure, dropped: 2, usedBytes });
    disk.unreadable = false;
    record(begun("/full", { entry: "e3" }));
    expect(ledger.status).toMatchObject({ failure: null, dropped: 2 });
    expect(
      story()
        .open.map(({ entry }) => entry)
        .sort(),
    ).toEqual(["e1", "e3"]);
    ledger.close();
  });
});

describe("a file", () => {
  it("is for its owner alone", () => {
    using _ = new Kept();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}-wal`).mode & 0o777).toBe(0o600);
  });

  it("of something else, of another program, of a newer dashboard or in use is refused by a sentence that names it", () => {
    writeFileSync(file, "these are my notes, and no database");
    expect(() => openDatabase(file, 16 * megabyte)).toThrow(
      `${file} is no history: it is a file of something else`,
    );
    rmSync(file);
    {
      const { db } = openDatabase(file, 16 * megabyte);
      expect(() => openDatabase(file, 16 * megabyte)).toThrow(`${file} is in use by another dashboard`);
      db.exec("PRAGMA user_version=7");
      closeDatabase(db);
    }
    expect(() => openDatabase(file, 16 * megabyte)).toThrow(
      `${file} was written by a newer dashboard (schema 7, this one knows 1)`,
    );
    rmSync(file);
    const other = openDatabase(file, 16 * megabyte).db;
    other.exec("PRAGMA application_id=0");
    closeDatabase(other);
    expect(() => openDatabase(file, 16 * megabyte)).toThrow(
      `${file} is no history: it is a database of another program`,
    );
    expect(() => openDatabase(join(folder, "none", "h.db"), 16 * megabyte)).toThrow(
      "cannot be written (ENOENT)",
    );
  });

  it("of another program is left as it is: its rights, its journal and its content", () => {
    const { db } = openDatabase(file, 16 * megabyte);
    db.exec("PRAGMA application_id=1");
    closeDatabase(db);
    const bytes = readFileSync(file);
    // These two bytes say that the database has a write-ahead log.
    bytes.fill(2, 18, 20);
    writeFileSync(file, bytes);
    chmodSync(file, 0o644);
    const files = readdirSync(folder);
    expect(() => openDatabase(file, 16 * megabyte)).toThrow(RefusedFileError);
    expect(() => checkDatabase(file)).toThrow("it is a database of another program");
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(readdirSync(folder)).toEqual(files);
  });

  it("of an earlier build that was killed before its log was written back is left as it is, and the sentence says what to do", () => {
    using kept = new Kept();
    kept.record(t0, begun("/one"));
    const left = join(folder, "left.db");
    const bytes = readFileSync(file);
    // Those builds had the number of the program only in the log until it was written back.
    bytes.fill(0, 68, 72);
    writeFileSync(left, bytes);
    copyFileSync(`${file}-wal`, `${left}-wal`);
    const log = readFileSync(`${left}-wal`);
    const sentence = `${left} is no history: it is a database of another program, or of an earlier build of the dashboard that was killed before it had written ${left}-wal back; name another file, or let that build open it and end in order once`;
    for (const open of [() => openDatabase(left, 16 * megabyte), () => checkDatabase(left)])
      expect(open).toThrow(new RefusedFileError(sentence));
    expect(readFileSync(left).equals(bytes)).toBe(true);
    expect(readFileSync(`${left}-wal`).equals(log)).toBe(true);
    // Without the log, the content of an earlier build is lost anyway.
    rmSync(`${left}-wal`);
    expect(() => checkDatabase(left)).toThrow(/it is a database of another program; name another file$/);
  });

  it("whose process was killed before its log was written back is a history all the same", () => {
    using kept = new Kept();
    kept.record(t0, begun("/one"));
    const left = join(folder, "left.db");
    copyFileSync(file, left);
    copyFileSync(`${file}-wal`, `${left}-wal`);
    const { db } = openDatabase(left, 16 * megabyte);
    expect(leftHolds(db)).toMatchObject([{ key: "/one" }]);
    closeDatabase(db);
  });
});
