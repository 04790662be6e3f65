import { expect, test } from "vitest";
import { ReplyError } from "../../src/client/errors.js";
import type { Late } from "../../src/scripts/mutex/answers.js";
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
