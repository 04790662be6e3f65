import { systemRuntime } from "@holdfast/core";
import { ReplyError } from "@holdfast/redis-recipes/internal";
import { expect, test } from "vitest";
import type { Link } from "../../src/redis/link.js";
import type { Places } from "../../src/redis/places.js";
import { Reader } from "../../src/redis/reader.js";
import type { Reading } from "../../src/redis/reading.js";

/** The readings of one lock at a master that answers each command with the refusal `reply`. */
async function readingsAt(reply: string): Promise<readonly Reading[]> {
  const link = {
    send: async (commands: readonly unknown[]) => commands.map(() => new ReplyError(reply, { servers: [] })),
  } as Partial<Link> as Link;
  const taken: Reading[] = [];
  const places = { outdated: () => {} } as Partial<Places> as Places;
  await new Reader(places, systemRuntime, (reading) => taken.push(reading)).readAt(link, ["k"], "full");
  return taken;
}

test.each([
  "BUSY Redis is busy running a script.",
  "CLUSTERDOWN The cluster is down",
  "LOADING Redis is loading the dataset in memory",
])("%s shows nothing of a lock, and the reading rejects with it", async (reply) => {
  await expect(readingsAt(reply)).rejects.toThrow(reply);
});

test("a missing right is about the key alone: the reading has it", async () => {
  const reply = "NOPERM this user has no permissions to access one of the keys used as arguments";
  expect(await readingsAt(reply)).toMatchObject([{ key: "k", denied: expect.stringContaining(reply) }]);
});

test("another server's key shows nothing, and is looked for there", async () => {
  expect(await readingsAt("MOVED 3999 127.0.0.1:6381")).toEqual([]);
});
