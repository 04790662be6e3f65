import { randomInt } from "node:crypto";
import { type Runtime, systemRuntime } from "@holdfast/core";
import { eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { openSession, parseConnectString } from "@holdfast/zk-recipes/internal";
import { expect, it, onTestFinished } from "vitest";
import { Watched } from "./support.js";

it("counts an event that never came, once, and puts it right", async () => {
  await using server = await startEmbeddedZooKeeper();
  server.operator.create("/locks");
  server.operator.create("/locks/a");
  await using watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
  const fault = server.faults.on({ op: "event", path: /lock-/ }, { do: "drop" });
  server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
  await eventually(() => fault.hits.length > 0, { what: "the event lost" });
  expect(watched.collector.get("/locks/a")?.state).not.toBe("held");
  expect(await watched.collector.compareNow()).toBe(1);
  const row = watched.collector.get("/locks/a");
  expect(row).toMatchObject({ state: "held", oldestHold: { provenance: "at-least" } });
  expect(await watched.collector.compareNow()).toBe(0);
  expect(watched.collector.drift).toBe(1);
  expect(watched.events.filter(({ type }) => type === "drift")).toEqual([{ type: "drift", count: 1 }]);
  expect(watched.collector.sources().find(({ source }) => source === "compare")?.message).toMatch(
    /^1 differences/,
  );
});

it("goes on with one chain of passes after a pass that a new root has overtaken", async () => {
  await using server = await startEmbeddedZooKeeper();
  for (const path of ["/apps", "/apps/a", "/apps/a/locks"]) server.operator.create(path);
  const compareEveryMs = 123_456;
  const due = new Set<() => void>();
  const runtime: Runtime = {
    ...systemRuntime,
    setTimer: (delayMs, fn) => {
      if (delayMs !== compareEveryMs) return systemRuntime.setTimer(delayMs, fn);
      due.add(fn);
      return () => due.delete(fn);
    },
  };
  const { connectString: connect } = server;
  await using watched = await Watched.start({ connect, roots: ["/apps/*/locks"], compareEveryMs, runtime });
  await eventually(() => due.size === 1, { what: "the first pass to be due" });
  const [first] = due;
  due.clear();
  const count = server.faults.on({ op: "getAllChildrenNumber", path: "/apps/a/locks" }, { do: "hold" });
  first?.();
  await count.reached();
  server.operator.create("/apps/b");
  const overtaken = () => watched.events.some((event) => event.type === "resync");
  await eventually(overtaken, { what: "the new root to be noticed" });
  count.release();
  await eventually(() => watched.collector.comparisons === 1, { what: "the overtaken pass to end" });
  const walks = () => watched.events.filter((event) => event.type === "pass" && event.source !== "compare");
  await eventually(() => walks().length === 2, { what: "the roots to be read anew" });
  await eventually(() => due.size > 0, { what: "the next pass to be due" });
  expect(due.size).toBe(1);
});

it("never counts a difference, nor makes one, while 32 clients come and go and it compares, resumes and compares", async () => {
  const seed = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));
  console.log(`HOLDFAST_SEED=${seed}`);
  await using server = await startEmbeddedZooKeeper({ seed });
  server.operator.create("/locks");
  for (let at = 0; at < 40; at++) server.operator.create(`/locks/l${at}`);
  await using watched = await Watched.start({ connect: server.connectString, roots: ["/locks"] });
  const { servers } = parseConnectString(server.connectString);
  const sessions = Array.from({ length: 32 }, () =>
    openSession({ servers, sessionTimeoutMs: 10_000, runtime: systemRuntime }),
  );
  onTestFinished(async () => {
    await Promise.all(sessions.map((session) => session.close()));
  });
  await Promise.all(sessions.map((session) => session.whenConnected()));
  let going = true;
  let pairs = 0;
  const clients = sessions.map(async (session, client) => {
    let state = (seed + client * 7_919) >>> 0;
    while (going) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      const lock = `/locks/l${(state >>> 8) % 40}`;
      const flags = CreateFlags.ephemeralSequential;
      const { path } = await session.request("create", {
        path: `${lock}/lock-`,
        data: null,
        acl: openAcl,
        flags,
      });
      await session.request("delete", { path, version: -1 });
      pairs += 1;
    }
  });
  for (let round = 0; round < 5; round++) {
    expect(await watched.collector.compareNow()).toBe(0);
    const id = server.sessions().find((session) => !sessions.some((mine) => mine.id === session.id))?.id;
    // Waits for the event instead of polling: the connection may be back before a poll.
    const noticed = new Promise<void>((resolve) => {
      watched.collector.onEvent(() => {
        if (watched.collector.sources()[0]?.state !== "ok") resolve();
      });
    });
    if (id === undefined || !server.dropConnection(id)) throw new Error("the collector has no connection");
    await noticed;
    await watched.synced();
  }
  going = false;
  await Promise.all(clients);
  expect(await watched.collector.compareNow()).toBe(0);
  expect(watched.collector.drift).toBe(0);
  expect(watched.collector.findings().filter(({ kind }) => kind === "queue-without-holder")).toEqual([]);
  for (const row of watched.collector.locks()) expect(row.state).toBe("idle");
  expect(pairs).toBeGreaterThan(100);
});
