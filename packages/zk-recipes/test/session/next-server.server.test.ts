import { eventually, startProxy, startZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test } from "vitest";
import { createRequest, open, runtime, statesOf } from "./support.js";

// Alone, because a process that is kept from running for a tenth of a second gives the silent server the benefit of the doubt.
test("a silent server is left for the next one in time to keep the session", async () => {
  const server = await startZooKeeper();
  onTestFinished(() => server.stop());
  const proxy = await startProxy({ target: server.connectString });
  onTestFinished(() => proxy.close());
  const session = open(`${proxy.connectString},${server.connectString}`, {
    sessionTimeoutMs: 3_000,
    runtime: { ...runtime, random: () => 0.999_999 }, // leaves the order of the servers as it is
  });
  await session.whenConnected();
  expect(proxy.accepted).toBe(1);
  const path = "/next-server";
  await session.request("create2", createRequest(path, 1));
  const states = statesOf(session);
  await proxy.setMode("hole");
  await eventually(() => states.length === 2, { what: "the next server", everyMs: 5 });
  expect(states).toEqual(["suspended", "connected"]);
  const { stat } = await session.request("exists", { path, watch: false });
  expect(stat.ephemeralOwner).toBe(session.id);
});
