import { expect, test } from "vitest";
import { ReplyError } from "../../src/client/errors.js";
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
  // As in a cluster whose first master has just been asked for its sharded channels.
  Object.assign(line, { publishCommand: "spublish" });
  line.mend();
  await expect(scene.settle(counted)).rejects.toThrow(/enough/);
  expect(published).toEqual(["spublish"]);
});
