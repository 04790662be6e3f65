import { startRedis } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { slotOfKey } from "../../src/layout/hash-slot.js";
import { Dice } from "../model/differential.js";

test("slots are those that a real server computes", async () => {
  const node = await startRedis({ config: { "cluster-enabled": "yes" } });
  const redis = new Redis({
    port: Number(new URL(node.url).port),
    host: "127.0.0.1",
    maxRetriesPerRequest: 0,
  });
  try {
    const dice = new Dice("hash slots");
    const random = () =>
      Array.from({ length: 1 + dice.below(12) }, () =>
        dice.of(["{", "}", "a", "b", ":", "ä", "€", "😀", "7"]),
      ).join("");
    const keys = [
      "plain",
      "a{b}c",
      "{x}",
      "a:{b}",
      "a}b",
      "a{b",
      "{}x",
      "",
      ...Array.from({ length: 500 }, random),
    ];
    const slots = await Promise.all(keys.map((key) => redis.call("CLUSTER", "KEYSLOT", key)));
    expect(keys.map(slotOfKey)).toEqual(slots);
  } finally {
    redis.disconnect();
    await node.stop();
  }
});
