import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { lockIdOf } from "../../src/core/lock-id.js";
import { LastingHistory } from "../../src/history/lasting-history.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";
import { as, changing, type Serving, serving } from "../server/serving.js";

let folder: string;
let file: string;
let history: LastingHistory;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-history-"));
  file = join(folder, "history.db");
  history = await LastingHistory.open({ file });
});
afterEach(async () => {
  await history.close();
  rmSync(folder, { recursive: true, force: true });
});

const idOf = (key: string): string => lockIdOf({ cluster: "zoo", backend: "zookeeper", key });
const owner = (session: string) => ({
  session,
  identity: { label: "billing", host: "h1", pid: 7 },
  token: "0x5",
});

async function json(dashboard: Serving, url: string, status = 200) {
  const answer = await dashboard.app.inject({ url: `/api/v1/${url}`, headers: as("viewer") });
  expect(answer.statusCode, `${url}: ${answer.body}`).toBe(status);
  return answer.json();
}

/** Reports a hold that has lasted for a second. */
function turn({ zookeeper }: Serving, key: string, entry = "e1"): void {
  const atMs = Date.now();
  zookeeper.emit({
    type: "granted",
    key,
    entry,
    atMs: atMs - 1_000,
    token: null,
    heldMs: null,
    exact: true,
    waitedMs: 40,
    owner: owner("0x1"),
  });
  zookeeper.emit({ type: "released", key, entry, atMs, token: null, heldMs: 1_000, owner: owner("0x1") });
}

describe("with a history", () => {
  it("a lock's story has what its collector reported, and the ranking has the lock, its group and its owner", async () => {
    await using dashboard = await serving({ history });
    turn(dashboard, "/order/17");
    const id = idOf("/order/17");
    await expect.poll(async () => (await json(dashboard, `locks/${id}/story`)).holds).toHaveLength(1);
    expect(await json(dashboard, `locks/${id}/story?range=hour`)).toMatchObject({
      open: [],
      next: null,
      holds: [
        {
          ...{ entry: "e1", session: "0x1", token: "0x5", waitedMs: 40, heldMs: 1_000, reason: "unknown" },
          ...{ identity: { label: "billing", host: "h1", pid: 7 }, since: { provenance: "exact" } },
        },
      ],
    });
    for (const [by, name] of [
      ["lock", "/order/17"],
      ["group", "order/*"],
      ["owner", "billing"],
    ] as const)
      for (const window of ["hour", "day"])
        expect(await json(dashboard, `ranking?by=${by}&window=${window}`)).toMatchObject({
          rows: [{ name, lockId: by === "lock" ? id : null, grants: 1, ends: 1, heldMs: 1_000 }],
        });
    expect(await json(dashboard, "ranking?group=order/*")).toMatchObject({ rows: [{ name: "/order/17" }] });
    expect((await json(dashboard, "history")).history).toMatchObject({ failure: null, dropped: 0 });
    expect((await json(dashboard, "me")).history).toBe(true);
  });

  it("takes no query that is out of bounds", async () => {
    await using dashboard = await serving({ history });
    for (const url of ["ranking?limit=201", "ranking?sort=age", "ranking?by=session", "ranking?x=1"])
      await json(dashboard, url, 400);
    for (const query of ["limit=501", "range=year", "cursor=1", "untilMs=-1"])
      await json(dashboard, `locks/${idOf("/a")}/story?${query}`, 400);
    await json(
      dashboard,
      `locks/${lockIdOf({ cluster: "other", backend: "zookeeper", key: "/a" })}/story`,
      404,
    );
    expect(await json(dashboard, `locks/${idOf("/none")}/story`)).toMatchObject({
      holds: [],
      firstSeenMs: null,
    });
  });

  it("a forced release is kept as forced, whether the hold's end is reported before or after the answer", async () => {
    await using dashboard = await serving({ history });
    const { app, zookeeper } = dashboard;
    const force = async (key: string) =>
      await app.inject({
        ...{
          method: "POST",
          url: `/api/v1/locks/${idOf(key)}/actions`,
          headers: await changing(app, "admin"),
        },
        payload: {
          ...{
            action: "force-release",
            entry: "h1",
            expectedVersion: "h1",
            confirmation: key,
            reason: "a test",
          },
        },
      });
    for (const key of ["/before", "/after"]) {
      zookeeper.put({ key, holders: [fakeParticipant({ entry: "h1" })] });
      zookeeper.emit({ type: "granted", key, entry: "h1", atMs: Date.now(), token: null, heldMs: null });
    }
    const end = (key: string) =>
      zookeeper.emit({ type: "released", key, entry: "h1", atMs: Date.now(), token: null, heldMs: 1 });
    end("/before");
    expect((await force("/before")).statusCode).toBe(200);
    expect((await force("/after")).statusCode).toBe(200);
    end("/after");
    for (const key of ["/before", "/after"])
      await expect
        .poll(async () => (await json(dashboard, `locks/${idOf(key)}/story`)).holds)
        .toMatchObject([{ reason: "forced" }]);
  });

  it("asks no more than sixteen questions at the same time", async () => {
    const question = {
      ask: "ranking",
      kind: "lock",
      window: "day",
      sort: "held",
      limit: 1,
      cluster: null,
      group: null,
    } as const;
    const asked = Array.from({ length: 17 }, () =>
      (async () => await history.ask(question))().catch((error: Error) => error),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter((each) => each instanceof Error).map((each) => (each as Error).message)).toContain(
      "too many ask the history at the same time; try again",
    );
  });
});

it("a history whose thread has ended says that a restart is what helps", async () => {
  expect(history.findings()).toEqual([]);
  await history.close();
  expect(history.findings()).toMatchObject([
    { kind: "history-failing", advice: "Restart the dashboard: nothing is recorded until then." },
  ]);
});

it("a history whose thread has died counts each later change as lost, and refuses questions at once", async () => {
  const posted = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => posted.mockRestore());
  // The question only shows which thread it is sent to.
  await expect(history.ask({} as never)).rejects.toThrow();
  // It dies of a message that is none. `terminate()` could end it within SQLite, which takes the whole process along.
  (posted.mock.contexts[0] as Worker).postMessage(null);
  const advice = "Restart the dashboard: nothing is recorded until then.";
  await expect.poll(() => history.findings()).toMatchObject([{ kind: "history-failing", advice }]);
  history.add({} as never);
  expect(history.status.dropped).toBe(1);
  await expect(history.ask({} as never)).rejects.toThrow("its thread has ended");
});

describe("a second dashboard", () => {
  it("cannot have the same file, and the first goes on", async () => {
    await expect(LastingHistory.open({ file })).rejects.toThrow(
      `history.file: ${file} is in use by another dashboard: give each one a file of its own`,
    );
    await using dashboard = await serving({ history });
    turn(dashboard, "/still");
    await expect
      .poll(async () => (await json(dashboard, `locks/${idOf("/still")}/story`)).holds)
      .toHaveLength(1);
  });

  it("after the first has what was held, for its collectors, once each", async () => {
    const collector = new FakeCollector();
    await using dashboard = await serving({ history, clusters: [{ name: "zoo", collector }] });
    const atMs = Date.now() - 5_000;
    collector.emit({
      type: "granted",
      key: "/held",
      entry: "e1",
      atMs,
      token: "0x5",
      heldMs: null,
      owner: owner("0x1"),
    });
    await expect
      .poll(async () => (await json(dashboard, `locks/${idOf("/held")}/story`)).open)
      .toHaveLength(1);
    await history.close();
    history = await LastingHistory.open({ file });
    expect(history.earlierSight("zoo", "/held", "other")).toBeUndefined();
    expect(history.earlierSight("zoo", "/held", "e1")).toEqual({ atMs, token: "0x5" });
    expect(history.earlierSight("zoo", "/held", "e1")).toBeUndefined();
  });
});

it("without the package that has SQLite the start says which one, and how to do without", async () => {
  // Copied to a folder without node_modules, as if npm had left the optional dependency out.
  const alone = join(folder, "database.mjs");
  const built = readFileSync(new URL("../../dist/history/database.js", import.meta.url), "utf8");
  writeFileSync(alone, built.replace(/\n\/\/# sourceMappingURL=.*/, ""));
  const { openDatabase } = (await import(
    /* @vite-ignore */ pathToFileURL(alone).href
  )) as typeof import("../../src/history/database.js");
  expect(() => openDatabase(join(folder, "other.db"), 16_777_216)).toThrow(
    /history takes the package libsql with its binary for \w+ \w+: it is not installed; .*leave history out of the configuration/,
  );
});
