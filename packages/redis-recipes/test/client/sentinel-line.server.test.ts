import { eventually, freePort, type RedisReplicaSet, startRedisReplicaSet } from "@holdfast/test-servers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OutcomeUnknownError } from "../../src/client/errors.js";
import { freshName, increment, openLine, settled } from "./support.js";

let set: RedisReplicaSet;

beforeEach(async () => {
  set = await startRedisReplicaSet();
});
afterEach(() => set.stop());

function open() {
  return openLine({ sentinels: { sentinels: set.sentinelAddresses, name: "holdfast" } });
}

test("follows a killed master: told at once, another run id after it", async () => {
  const { line, states, notices } = open();
  const subscription = line.subscribe("told", "plain", () => {});
  await line.whenConnected();
  await subscription.ready;
  const before = line.masterOf("x");
  expect(before).toBe(await (await set.master()).runId());
  await set.killMaster();
  const killedMs = performance.now();
  await eventually(() => states.at(-1) === "suspended", { what: "the outage to show" });
  expect(performance.now() - killedMs).toBeLessThan(500);
  await line.whenConnected();
  const after = await set.untilMaster();
  expect(line.masterOf("x")).toBe(await after.runId());
  expect(line.masterOf("x")).not.toBe(before);
  // The other sentinels' news of the same switch may cost one more connection, to the same master.
  expect(notices.filter((what) => what !== "subscriptions")[0]).toBe("master");
  await eventually(() => notices.includes("subscriptions"), { what: "the channels to be back" });
  expect((await line.run(increment, [freshName("x")], [])).reply).toBe(1);
});

test("leaves a frozen master once another is named", async () => {
  const { line, notices } = open();
  await line.whenConnected();
  const frozen = await set.master();
  const key = freshName("frozen");
  await line.run(increment, [key], []);
  const frozenMs = performance.now();
  await frozen.pause();
  const { error, tookMs } = await settled(line.run(increment, [key], []));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(tookMs).toBeLessThan(1_500);
  const next = await set.untilMaster({ not: frozen });
  await eventually(async () => line.masterOf("x") === (await next.runId()), {
    what: "the new master",
    withinMs: 12_000,
  });
  expect(performance.now() - frozenMs).toBeLessThan(15_000);
  expect(notices[0]).toBe("master");
  frozen.resume();
});

test("says nothing of a sentinel that goes", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const { line, states } = open();
  await line.whenConnected();
  const [leaving] = set.sentinels;
  // Once all of them are listened to.
  await eventually(
    async () => String(await leaving?.command("CLIENT", "LIST", "TYPE", "pubsub")).includes("sub=1"),
    { what: "the connection to the sentinel" },
  );
  await leaving?.kill();
  await expect(line.run(increment, [freshName("x")], [])).resolves.toMatchObject({ reply: 1 });
  expect(states).toEqual(["connected"]);
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});

test("follows a planned failover", async () => {
  const { line, notices } = open();
  await line.whenConnected();
  const next = await set.failover();
  await eventually(async () => line.masterOf("x") === (await next.runId()), { what: "the new master" });
  await line.whenConnected();
  expect((await line.run(increment, [freshName("x")], [])).reply).toBe(1);
  expect(notices).toContain("master");
});

test("waits for a failover rather than believe the old master's refusal, but believes that of all sentinels", async () => {
  const master = await set.master();
  await master.kill();
  const { line } = open();
  await line.whenConnected();
  const port = await freePort();
  const lost = openLine({ sentinels: { sentinels: [{ host: "127.0.0.1", port }], name: "holdfast" } });
  const { error, tookMs } = await settled(lost.line.whenConnected());
  expect(String(error)).toContain(`every server refused: connect ECONNREFUSED 127.0.0.1:${port}`);
  expect(tookMs).toBeLessThan(1_300);
});
