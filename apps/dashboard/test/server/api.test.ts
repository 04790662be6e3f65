import { type AddressInfo, connect, type Socket } from "node:net";
import type { TSchema } from "typebox";
import { Errors } from "typebox/value";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { share } from "../../../../e2e/support/share.js";
import type { HistoryRow, LockRow } from "../../src/contract/api.js";
import * as contract from "../../src/contract/api.js";
import { HistoryStateSchema } from "../../src/contract/history.js";
import { lockIdOf } from "../../src/core/lock-id.js";
import { type FakeCollector, fakeParticipant } from "../fake-collector.js";
import { soon } from "../soon.js";
import { as, changing, type Serving, serving } from "./serving.js";

const idOf = (key: string): string => lockIdOf({ cluster: "zoo", backend: "zookeeper", key });

function furnish({ zookeeper, redis }: Serving): void {
  zookeeper.put({
    key: "/locks/a",
    holders: [fakeParticipant({ entry: "h1", session: "0x1", address: "10.0.0.7:1" })],
    waiters: [fakeParticipant({ entry: "w1", session: "0x2", position: 0 })],
    raw: [{ name: "path", value: "/locks/a" }],
    explain: ["read now"],
    oldestHold: { atMs: 1_000, provenance: "exact" },
    oldestWait: { atMs: 2_000, provenance: "exact" },
  });
  zookeeper.put({ key: "/locks/b", holders: [fakeParticipant({ entry: "h2" })] });
  redis.put({
    key: "order:{42}",
    kind: "fair-mutex",
    libraries: ["redisson"],
    holders: [fakeParticipant({ entry: "u:1" })],
  });
  zookeeper.sessionList = [
    {
      id: "0x1",
      backend: "zookeeper",
      server: "zk-1",
      address: "10.0.0.7:1",
      identity: { label: "pay", host: "h", pid: 7 },
      timeoutMs: 20_000,
      established: { atMs: 1, provenance: "exact" },
      lastSeen: { atMs: null, provenance: "unknown" },
      holds: ["/locks/a"],
      waits: [],
      state: "connected",
    },
  ];
  zookeeper.serverList = [
    {
      name: "zk-1",
      role: "leader",
      reachable: true,
      version: "3.8",
      facts: [{ name: "zxid", value: "0x1", warning: false }],
    },
  ];
  zookeeper.findingList = [
    {
      id: "f",
      kind: "long-hold",
      severity: "warning",
      object: "/locks/a",
      sinceMs: 1,
      evidence: "held",
      advice: "look",
    },
  ];
}

// biome-ignore lint/suspicious/noExplicitAny: JSON, looked at field by field; that it is as its schema says is the first test.
async function json(dashboard: Serving, url: string): Promise<any> {
  const answer = await dashboard.app.inject({ url: `/api/v1/${url}`, headers: as("viewer") });
  expect(answer.statusCode, `${url}: ${answer.body}`).toBe(200);
  return answer.json();
}

describe("REST", () => {
  it("answers each GET exactly as its schema says, without a field more", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    await soon(async () => (await json(dashboard, "findings")).rows.length).toBe(1);
    const answers: Record<string, TSchema> = {
      me: contract.MeSchema,
      clusters: contract.ClustersSchema,
      overview: contract.OverviewSchema,
      locks: contract.LocksSchema,
      [`locks/${idOf("/locks/a")}`]: contract.LockDetailSchema,
      [`locks/${idOf("/locks/a")}/history`]: contract.LockHistorySchema,
      sessions: contract.SessionsSchema,
      "sessions/0x1?cluster=zoo": contract.SessionDetailSchema,
      backends: contract.BackendsSchema,
      findings: contract.FindingsSchema,
      waits: contract.WaitsSchema,
      schedules: contract.SchedulesSchema,
      history: HistoryStateSchema,
      audit: contract.AuditSchema,
    };
    for (const [url, schema] of Object.entries(answers))
      expect([...Errors(closed(schema), await json(dashboard, url))], url).toEqual([]);
  });

  it("pages through all locks in each order, each once, while others come and go", async () => {
    await using dashboard = await serving();
    const { zookeeper } = dashboard;
    for (let n = 0; n < 57; n++)
      zookeeper.put({
        key: `/locks/${n}`,
        holders: [fakeParticipant({ entry: `h${n}` })],
        waiterCount: n % 5,
        oldestHold:
          n % 7 === 0 ? { atMs: null, provenance: "unknown" } : { atMs: n % 11, provenance: "at-least" },
        oldestWait: { atMs: n % 3, provenance: "exact" },
      });
    for (const sort of ["waiters", "hold", "wait", "name"]) {
      const seen: LockRow[] = [];
      let cursor = "";
      do {
        const page = await json(dashboard, `locks?sort=${sort}&limit=10${cursor}`);
        seen.push(...page.rows);
        cursor = page.next === null ? "" : `&cursor=${page.next}`;
        zookeeper.put({ key: `/locks/other-${sort}-${seen.length}`, waiterCount: 99 });
        zookeeper.remove(`/locks/other-${sort}-${seen.length}`);
      } while (cursor !== "" && seen.length < 1_000);
      expect(new Set(seen.map(({ key }) => key)).size, sort).toBe(57);
      expect(seen.length, sort).toBe(57);
      if (sort === "waiters")
        expect(seen.map(({ waiterCount }) => waiterCount)).toEqual(
          seen.map(({ waiterCount }) => waiterCount).toSorted((a, b) => b - a),
        );
      if (sort === "hold")
        expect(seen.slice(-9).every(({ oldestHold }) => oldestHold.atMs === null)).toBe(true);
    }
  });

  it("goes on behind a page of which a lock went while all were walked", async () => {
    await using dashboard = await serving();
    const { zookeeper } = dashboard;
    for (let n = 100; n < 200; n++) zookeeper.put({ key: `/locks/${n}` });
    const walked = [...zookeeper.locks()];
    zookeeper.figures = () => walked;
    zookeeper.remove("/locks/105");
    const page = await json(dashboard, "locks?sort=name&limit=10");
    expect(page.rows.at(-1).key).toBe("/locks/109");
    const next = await json(dashboard, `locks?sort=name&limit=10&cursor=${page.next}`);
    expect(next.rows[0].key).toBe("/locks/110");
  });

  it("filters by cluster, backend, state, kind, owner, age, part of the key and glob", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    const keys = async (query: string): Promise<string[]> =>
      (await json(dashboard, `locks?sort=name&${query}`)).rows.map(({ key }: { key: string }) => key);
    expect(await keys("cluster=red")).toEqual(["order:{42}"]);
    expect(await keys("backend=zookeeper")).toEqual(["/locks/a", "/locks/b"]);
    expect(await keys("state=contended")).toEqual(["/locks/a"]);
    expect(await keys("kind=fair-mutex")).toEqual(["order:{42}"]);
    expect(await keys("owner=10.0.0.7")).toEqual(["/locks/a"]);
    expect(await keys("minAgeMs=1000")).toEqual(["/locks/a"]);
    expect(await keys("q=locks")).toEqual(["/locks/a", "/locks/b"]);
    expect(await keys("q=*locks/?")).toEqual(["/locks/a", "/locks/b"]);
    expect(await keys("q=locks*")).toEqual([]);
    expect(await keys("q=order:*42*")).toEqual(["order:{42}"]);
  });

  it("refuses what the contract does not know, and cursors that it has not given out", async () => {
    await using dashboard = await serving();
    for (const query of [
      "limit=0",
      "limit=501",
      "sort=age",
      "unknown=1",
      "cursor=%00",
      "cursor=bnVsbA",
      "state=lost",
    ]) {
      const answer = await dashboard.app.inject({ url: `/api/v1/locks?${query}`, headers: as("viewer") });
      expect([answer.statusCode, answer.json().error], query).toEqual([400, "bad-request"]);
    }
    const audit = await dashboard.app.inject({ url: "/api/v1/audit?cursor=gone", headers: as("viewer") });
    expect([audit.statusCode, audit.json().error]).toEqual([400, "bad-request"]);
  });

  it("finds a key by its whole name that the list has not come to", async () => {
    await using dashboard = await serving();
    const { redis } = dashboard;
    const lock = redis.put({ key: "order:7", holders: [fakeParticipant({ entry: "u:1" })] });
    redis.details.delete("order:7");
    redis.detail = async (key) => (key === "order:7" ? lock : null);
    const { rows, total, known } = await json(dashboard, "locks?q=order:7");
    expect([rows.map(({ key }: { key: string }) => key), total, known]).toEqual([["order:7"], 1, 0]);
    expect((await json(dashboard, "locks?q=order:*")).rows).toEqual([]);
  });

  it("shows a lock from memory, and says so, while its backend is silent", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    expect((await json(dashboard, `locks/${idOf("/locks/a")}`)).fromMemory).toBe(false);
    // A read detail is kept for a moment, until the lock changes.
    dashboard.zookeeper.put({ key: "/locks/a" });
    dashboard.zookeeper.failure = new Error("connection refused");
    const detail = await json(dashboard, `locks/${idOf("/locks/a")}`);
    expect(detail.lock.holders[0].entry).toBe("h1");
    expect(detail.explain[0]).toContain("connection refused");
    expect([detail.fromMemory, detail.waiters, detail.lock.waiterCount]).toEqual([true, [], 1]);
    const unknown = await dashboard.app.inject({
      url: `/api/v1/locks/${idOf("/locks/z")}`,
      headers: as("viewer"),
    });
    expect([unknown.statusCode, unknown.json().error]).toEqual([503, "backend-failed"]);
    expect((await json(dashboard, "sessions")).messages).toEqual(["zoo: connection refused"]);
    expect((await json(dashboard, "backends")).clusters[0].message).toBe("connection refused");
  });

  it("calls a session gone only where the clusters asked for have answered without it", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    const ask = async (path: string): Promise<unknown[]> => {
      const answer = await dashboard.app.inject({ url: `/api/v1/sessions/${path}`, headers: as("viewer") });
      return [answer.statusCode, answer.json().error];
    };
    dashboard.zookeeper.failure = new Error("connection refused");
    expect(await ask("0x1?cluster=zoo")).toEqual([503, "backend-failed"]);
    expect(await ask("0x1")).toEqual([503, "backend-failed"]);
    expect(await ask("0x1?cluster=red")).toEqual([404, "not-found"]);
    dashboard.zookeeper.failure = null;
    expect(await ask("0x9?cluster=zoo")).toEqual([404, "not-found"]);
    expect((await ask("0x1?cluster=zoo"))[0]).toBe(200);
  });

  it("says that the connection of a lock's holder is lost, and shows the lock where that cannot be found out", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    const { zookeeper } = dashboard;
    const lost = { id: "0x1", state: "suspended" as const, timeoutMs: 20_000, endsMs: 60_000 };
    zookeeper.contactList = [lost, { id: "0x2", state: "connected", timeoutMs: 20_000, endsMs: null }];
    const detail = async () => await json(dashboard, `locks/${idOf("/locks/a")}`);
    expect((await detail()).contacts).toEqual([lost]);
    zookeeper.put({ key: "/locks/a" });
    zookeeper.contacts = () => Promise.reject(new Error("no server tells"));
    const { contacts, lock } = await detail();
    expect([contacts, lock.holders.length]).toEqual([[], 1]);
  });

  it("reads a lock once for all of one role who look at it at the same time, and anew once it has changed or was acted on", async () => {
    await using dashboard = await serving();
    const { app, zookeeper } = dashboard;
    const url = `/api/v1/locks/${idOf("/locks/a")}`;
    const holder = async (role: "viewer" | "admin") =>
      (await app.inject({ url, headers: as(role) })).json().lock.holders[0]?.entry;
    zookeeper.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "h1" })] });
    const crowd = await Promise.all(Array.from({ length: 50 }, () => holder("viewer")));
    expect(new Set(crowd)).toEqual(new Set(["h1"]));
    // A quiet machine needs one read.
    expect(zookeeper.detailReads).toBeLessThan(10);
    const { actions } = (await app.inject({ url, headers: as("admin") })).json();
    expect(actions).not.toEqual([]);
    zookeeper.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "h2" })] });
    expect([await holder("viewer"), await holder("admin")]).toEqual(["h2", "h2"]);
    const reads = zookeeper.detailReads;
    await app.inject({
      ...{ method: "POST", url: `${url}/actions`, headers: await changing(app, "admin") },
      payload: {
        ...{ action: "force-release", entry: "h2", expectedVersion: "h2", confirmation: "", reason: "test" },
        dryRun: true,
      },
    });
    await holder("viewer");
    expect(zookeeper.detailReads).toBeGreaterThan(reads);
  });

  it("has all actions on a lock tried out by one question to its collector, and gives that up by its signal", async () => {
    await using dashboard = await serving();
    const { app, zookeeper } = dashboard;
    const people = ["1", "2", "3"];
    zookeeper.put({
      key: "/locks/a",
      holders: people.map((at) => fakeParticipant({ entry: `h${at}` })),
      waiters: people.map((at) => fakeParticipant({ entry: `w${at}` })),
    });
    const answer = vi.spyOn(zookeeper, "tryOut");
    const url = `/api/v1/locks/${idOf("/locks/a")}`;
    const read = async () => (await app.inject({ url, headers: as("admin") })).json().actions;
    expect(await read()).toHaveLength(9);
    expect(answer).toHaveBeenCalledOnce();
    let signal: AbortSignal | undefined;
    answer.mockImplementation((_seen, _acts, given) => {
      signal = given;
      return new Promise(() => {});
    });
    zookeeper.put({ key: "/locks/a" });
    expect(await read()).toEqual([]);
    expect(signal?.aborted).toBe(true);
  });

  it("limits how often one caller has locks read", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    const answer = await dashboard.app.inject({
      url: `/api/v1/locks/${idOf("/locks/a")}`,
      headers: as("viewer"),
    });
    expect(Number(answer.headers["x-ratelimit-limit"])).toBe(3_000);
  });

  it("limits how often one caller has whole lists, and what is costly to find", async () => {
    await using dashboard = await serving();
    furnish(dashboard);
    for (const url of [
      "sessions",
      "sessions/0x1",
      "backends",
      "findings",
      "schedules",
      "waits",
      "audit",
      "history",
    ]) {
      const answer = await dashboard.app.inject({ url: `/api/v1/${url}`, headers: as("viewer") });
      expect([answer.statusCode, Number(answer.headers["x-ratelimit-limit"])], url).toEqual([200, 600]);
    }
  });

  it("limits how often one caller has names looked up at the backends, and answers those beyond by how long to wait", async () => {
    await using dashboard = await serving();
    const { app, redis } = dashboard;
    const ask = (at: number) => app.inject({ url: `/api/v1/locks?q=none-${at}`, headers: as("viewer") });
    for (let at = 0; at < 3_000; at++) await ask(at);
    const { statusCode, headers, ...answer } = await ask(3_000);
    expect([statusCode, answer.json().error]).toEqual([429, "too-many-requests"]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect(redis.detailReads).toBe(3_000);
  });

  it("cuts off a client that takes nothing of its answer, so that no answer stays in memory for ever", async () => {
    // The client that takes its answer is a part of this process. While the machine stalls, that client takes nothing either.
    await using dashboard = await serving({ undrainedMs: 4_000 });
    const { app, zookeeper } = dashboard;
    const holders = [fakeParticipant({ entry: "h1", data: "x".repeat(50_000) })];
    for (let at = 0; at < 400; at++) zookeeper.put({ key: `/locks/${at}`, holders });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const ask = (): Socket => {
      const socket = connect(port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      const { authorization } = as("viewer");
      socket.write(
        `GET /api/v1/locks?limit=500 HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\n\r\n`,
      );
      return socket;
    };
    const connections = (): Promise<number> =>
      new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count)));
    ask().pause();
    await soon(connections).toBe(1);
    await soon(connections).toBe(0);

    let received = 0;
    ask().on("data", (data) => {
      received += data.length;
    });
    await soon(() => received).toBeGreaterThan(10_000_000);
  });

  it("sends a long answer whole where a client may take nothing for as long as a timer can wait", async () => {
    await using dashboard = await serving({ undrainedMs: 2 ** 31 - 1 });
    const { app, zookeeper } = dashboard;
    const holders = [fakeParticipant({ entry: "h1", data: "x".repeat(100_000) })];
    for (let at = 0; at < 100; at++) zookeeper.put({ key: `/locks/${at}`, holders });
    const origin = await app.listen({ host: "127.0.0.1", port: 0 });
    const answer = await fetch(`${origin}/api/v1/locks?limit=500`, { headers: as("viewer") });
    expect(await answer.json()).toHaveProperty("rows.length", 100);
  });

  it("cuts off a client that takes an answer in small pieces for ever", async () => {
    await using dashboard = await serving({ undrainedMs: 300 });
    const { app, zookeeper } = dashboard;
    const holders = [fakeParticipant({ entry: "h1", data: "x".repeat(100_000) })];
    for (let at = 0; at < 400; at++) zookeeper.put({ key: `/locks/${at}`, holders });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const { authorization } = as("viewer");
    socket.write(
      `GET /api/v1/locks?limit=500 HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\n\r\n`,
    );
    let received = 0;
    // At this pace the answer takes 5 s at least, but never stands still for as long as a client may take nothing.
    const reading = setInterval(() => {
      received += socket.read()?.length ?? 0;
    }, 20);
    onTestFinished(() => {
      clearInterval(reading);
      socket.destroy();
    });
    await soon(() => received).toBeGreaterThan(1_000_000);
    await soon(
      () => new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count))),
    ).toBe(0);
    expect(received).toBeLessThan(40_000_000);
  });

  it("keeps the turns of a lock and how long it was held", async () => {
    await using dashboard = await serving();
    const { zookeeper } = dashboard;
    zookeeper.put({ key: "/locks/a" });
    zookeeper.emit({ type: "granted", key: "/locks/a", entry: "h1", atMs: 10, token: "0x7", heldMs: null });
    zookeeper.emit({ type: "released", key: "/locks/a", entry: "h1", atMs: 50, token: "0x7", heldMs: 40 });
    const { rows, holdHistogram } = await json(dashboard, `locks/${idOf("/locks/a")}/history`);
    expect(rows.map(({ type, heldMs }: HistoryRow) => [type, heldMs])).toEqual([
      ["released", 40],
      ["granted", null],
    ]);
    expect(holdHistogram.filter(({ count }: { count: number }) => count > 0)).toEqual([
      { leMs: 50, count: 1 },
    ]);
  });

  it("counts a viewer's many questions about sessions and servers as one to the backend", async () => {
    await using dashboard = await serving();
    let asked = 0;
    dashboard.zookeeper.sessions = async () => {
      asked += 1;
      return [];
    };
    await Promise.all(Array.from({ length: 50 }, () => json(dashboard, "sessions")));
    expect(asked).toBe(1);
  });

  it("describes itself as OpenAPI 3.1, each route with its answer", async () => {
    await using dashboard = await serving();
    const document = await json(dashboard, "openapi.json");
    expect(document.openapi).toBe("3.1.0");
    const paths = Object.keys(document.paths);
    expect(paths).toContain("/api/v1/locks/{id}/actions");
    expect(paths.length).toBe(25);
    const list = document.paths["/api/v1/locks"].get;
    expect(list.parameters.map(({ name }: { name: string }) => name)).toContain("cursor");
    expect(Object.keys(list.responses["200"].content["application/json"].schema.properties)).toContain(
      "coverage",
    );
  });

  it("answers the first page of very many locks with less than 3 s of work", async () => {
    const count = share("locks in the list", 20_000, 100_000);
    await using dashboard = await serving();
    const { zookeeper } = dashboard;
    fill(zookeeper, count);
    const took: Record<string, number> = {};
    for (const query of [
      "locks?sort=waiters",
      "locks?sort=hold",
      "locks?sort=wait",
      "locks?sort=name",
      "locks?q=*7*",
      "locks?q=*a*b*c*d*?*e",
      "locks?owner=h9",
      "locks?state=contended",
      "overview",
    ]) {
      const since = process.cpuUsage();
      await json(dashboard, query);
      const { user, system } = process.cpuUsage(since);
      took[query] = Math.round((user + system) / 1_000);
    }
    // Processor time of the whole process: elapsed time would include other tests.
    console.log(`first page of ${count} locks, ms`, took);
    // It is 300 ms on a quiet machine. A slow or shared processor takes longer for the same work, so the limit is tenfold.
    expect(Math.max(...Object.values(took))).toBeLessThan(3_000);
  });
});

function fill(collector: FakeCollector, count: number): void {
  for (let n = 0; n < count; n++)
    collector.put({
      key: `/locks/orders/${n}`,
      holders: [fakeParticipant({ entry: `h${n}` })],
      waiterCount: n % 13,
      state: n % 13 === 0 ? "held" : "contended",
      oldestHold: { atMs: (n * 7_919) % 100_003, provenance: "exact" },
      oldestWait: { atMs: (n * 104_729) % 100_003, provenance: "exact" },
    });
}

/** The same schema, but it refuses fields that it does not name. */
function closed(schema: unknown): TSchema {
  if (Array.isArray(schema)) return schema.map(closed) as unknown as TSchema;
  if (typeof schema !== "object" || schema === null) return schema as TSchema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  if (copy.type === ("object" as unknown)) copy.additionalProperties = false as unknown as TSchema;
  return copy as unknown as TSchema;
}
