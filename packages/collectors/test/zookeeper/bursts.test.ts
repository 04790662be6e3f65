import { Socket } from "node:net";
import { systemRuntime } from "@holdfast/core";
import { eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { openSession, parseConnectString } from "@holdfast/zk-recipes/internal";
import { expect, it, onTestFinished, vi } from "vitest";
import { Watched } from "./support.js";

const count = 2_000;
const eventCostMs = 0.05;

it("takes a burst of events in more than one turn, and misses none of them", async () => {
  await using server = await startEmbeddedZooKeeper();
  server.operator.create("/locks");
  let told = (): number => 0;
  await using watched = await Watched.start({
    connect: server.connectString,
    roots: ["/locks"],
    // On this clock time passes mostly by events: each event costs `eventCostMs`.
    runtime: { ...systemRuntime, nowMs: () => systemRuntime.nowMs() + told() * eventCostMs },
  });
  told = () => watched.events.length;
  const { collector } = watched;
  const maker = openSession({
    servers: parseConnectString(server.connectString).servers,
    sessionTimeoutMs: 30_000,
    runtime: systemRuntime,
  });
  onTestFinished(() => maker.close());
  await maker.whenConnected();
  const ops = Array.from({ length: count }, (_, at) => {
    const lock = `/locks/${String(at).padStart(100, "0")}`;
    return [lock, `${lock}/lock-0000000000`].map((path) => ({
      op: "create" as const,
      request: { path, data: null, acl: openAcl, flags: CreateFlags.persistent },
    }));
  }).flat();
  // Tests of the session show how much one turn takes. This test shows that there is a limit at all.
  const pause = vi.spyOn(Socket.prototype, "pause");
  onTestFinished(() => pause.mockRestore());
  await maker.request("multi", { ops });
  await eventually(() => collector.size === count, { what: "all locks known", withinMs: 60_000 });
  expect(pause).toHaveBeenCalled();
  expect(await collector.compareNow()).toBe(0);
  expect([...collector.locks()].every(({ state }) => state === "held")).toBe(true);
});
