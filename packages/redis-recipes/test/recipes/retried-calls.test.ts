import { BackendError } from "@holdfast/core";
import { expect, test } from "vitest";
import { OutcomeUnknownError, ReplyError } from "../../src/client/errors.js";
import type { Late } from "../../src/scripts/mutex/answers.js";
import type { ScriptArgs } from "../../src/scripts/script.js";
import { Scene } from "./scene.js";

test("a countdown that waits for contact is published as the servers turn out to want it, so that Java hears of it", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client();
  line.cut();
  const published: unknown[] = [];
  line.run = async (_script, _keys, args) => {
    published.push(args[2]);
    throw new ReplyError("ERR enough", { servers: ["s:1"] });
  };
  const counted = provider.countDownLatch("gate").countDown();
  await scene.runtime.advance(10);
  // As in a cluster in which the first master has just said that it has sharded channels.
  Object.assign(line, { publishCommand: "spublish" });
  line.mend();
  await expect(scene.settle(counted)).rejects.toThrow(/enough/);
  expect(published).toEqual(["spublish"]);
});

test("a countdown that came to the server after its date has done nothing, and is sent again", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client();
  let sent = 0;
  line.run = async () => {
    sent++;
    const late: Late = { status: "late", serverMs: scene.redis.nowUs / 1_000 };
    const counted = { status: "counted", serverMs: late.serverMs, changed: true, count: 2, publishError: "" };
    const reply = (sent === 1 ? late : counted) as never;
    const nowMs = scene.runtime.nowMs();
    return { reply, sentMs: nowMs, answeredMs: nowMs, runId: "r", acknowledged: null };
  };
  expect(await scene.settle(provider.countDownLatch("gate").countDown())).toBe(2);
  expect(sent).toBe(2);
});

test("a read of a record whose date was wrong is sent again at once, also where the retry policy allows no other try", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client({}, {}, { retry: { next: () => null } });
  const sentMs: number[] = [];
  line.run = async () => {
    const nowMs = scene.runtime.nowMs();
    sentMs.push(nowMs);
    const status = sentMs.length === 1 ? "late" : "done";
    const reply = { status, serverMs: scene.redis.nowUs / 1_000, text: "v1" } as never;
    return { reply, sentMs: nowMs, answeredMs: nowMs, runId: "r", acknowledged: null };
  };
  expect(await scene.settle(provider.record("x").read())).toBe("v1");
  expect(sentMs).toEqual([sentMs[0], sentMs[0]]);
});

/** A client whose first request is executed and its answer lost. `answer` plays the server; it gets the action and how often it was asked. */
function losingFirst(answer: (args: ScriptArgs, times: number) => object) {
  const scene = new Scene();
  const { line, provider } = scene.client();
  let sent = 0;
  line.run = async (_script, _keys, args) => {
    const found = answer(args, ++sent);
    if (sent === 1) throw new OutcomeUnknownError("the connection broke", { servers: ["s:1"] });
    const reply = { serverMs: scene.redis.nowUs / 1_000, publishError: "", ...found } as never;
    return { reply, sentMs: 0, answeredMs: 0, runId: "r", acknowledged: null };
  };
  return { scene, provider };
}

test.each([
  ["open", "shut"],
  ["shut", "open"],
] as const)(
  "%s() of a barrier whose answer was lost does not undo a later %s() of another client",
  async (ours, theirs) => {
    let state = theirs === "shut" ? "open" : "shut";
    const { scene, provider } = losingFirst(([action], times) => {
      if (action !== "read") state = String(action);
      const reply = { status: "done", changed: true, shut: state === "shut" };
      if (times === 1) state = theirs;
      return reply;
    });
    await expect(scene.settle(provider.barrier("gate")[ours]())).rejects.toMatchObject({ retryable: false });
    expect(state).toBe(theirs);
  },
);

test.each(["open", "shut"] as const)(
  "%s() of a barrier whose answer was lost is done where the gate is as it was to be",
  async (ours) => {
    let state = "";
    const { scene, provider } = losingFirst(([action]) => {
      if (action !== "read") state = String(action);
      return { status: "done", changed: true, shut: state === "shut" };
    });
    await scene.settle(provider.barrier("gate")[ours]());
    expect(state).toBe(ours);
  },
);

test("setLimit() whose answer was lost does not undo the limit that another client has set since, and is done where it stands", async () => {
  for (const [theirs, outcome] of [
    [2, { retryable: false }],
    [5, undefined],
  ] as const) {
    let limit = 0;
    const { scene, provider } = losingFirst(([wanted], times) => {
      if (wanted !== "") limit = Number(wanted);
      if (times === 1) limit = theirs;
      return { status: "counted", changed: true, free: limit, held: 0 };
    });
    const set = scene
      .settle(provider.permitSemaphore("printers").setLimit(5))
      .catch((error: unknown) => error);
    if (outcome === undefined) expect(await set).toBeUndefined();
    else expect(await set).toMatchObject(outcome);
    expect(limit).toBe(theirs);
  }
});

test.each([
  ["off", { retryable: false }],
  ["on", true],
  ["broken", { retryable: false }],
] as const)(
  "replace() of a record whose answer was lost leaves alone what is there since: %s",
  async (since, outcome) => {
    let text = "off";
    const { scene, provider } = losingFirst(([action, , seen, next], times) => {
      if (action === "replace" && text === seen) text = String(next);
      const reply = { status: "done", text };
      if (times === 1) text = since;
      return reply;
    });
    const replaced = await scene
      .settle(provider.record("switch").replace("off", "on"))
      .catch((error: unknown) => error);
    if (outcome === true) expect(replaced).toBe(true);
    else expect(replaced).toMatchObject(outcome);
    expect(text).toBe(since);
  },
);

test("replace() of a record has a date, so that a late copy of it changes nothing", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client();
  const aheadUs: number[] = [];
  line.run = async (_script, _keys, args) => {
    aheadUs.push(Number(args[1]) - scene.redis.nowUs);
    const reply = { status: "done", serverMs: scene.redis.nowUs / 1_000, text: "on" } as never;
    const nowMs = scene.runtime.nowMs();
    return { reply, sentMs: nowMs, answeredMs: nowMs, runId: scene.redis.runId, acknowledged: null };
  };
  // The first answer shows the server's clock.
  await scene.settle(provider.record("switch").read());
  expect(await scene.settle(provider.record("switch").replace("off", "on"))).toBe(true);
  expect(aheadUs[1]).toBeGreaterThan(0);
});

test("a permit of a plain semaphore is given back after an outage of twelve minutes too, and is asked about ever less often", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client();
  let away = false;
  const asked = { taken: 0, given: 0, inVain: 0 };
  const silence = new BackendError("no server answers", { backend: "redis", retryable: true });
  line.runAll = (_script, runs) => runs.map(async () => silence);
  line.run = async ({ name }) => {
    if (away) {
      if (name === "semaphore-give") asked.inVain++;
      throw silence;
    }
    if (name === "semaphore-take") asked.taken++;
    if (name === "semaphore-give") asked.given++;
    const granted = { status: "granted", token: 1n, pttlMs: Number.POSITIVE_INFINITY, ended: true };
    const nowMs = scene.runtime.nowMs();
    const reply = { serverMs: scene.redis.nowUs / 1_000, publishError: "", ...granted } as never;
    return { reply, sentMs: nowMs, answeredMs: nowMs, runId: scene.redis.runId, acknowledged: null };
  };
  const permit = await scene.settle(provider.plainSemaphore("printers", 1).acquire());
  away = true;
  await scene.runtime.advance(720_000);
  expect(permit.lost.reason).toMatchObject({ reason: "lease-expired" });
  away = false;
  await scene.runtime.advance(20_000);
  expect(asked).toMatchObject({ taken: 1, given: 1 });
  expect(asked.inVain).toBeLessThan(1_000);
});
