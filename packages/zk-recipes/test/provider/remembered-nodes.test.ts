import { eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { expect, onTestFinished, test, vi } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";
import { SessionContext } from "../../src/recipes/session-context.js";

type Use = (locks: ZooKeeperLocks, name: string) => Promise<unknown>;

test.each<[string, Use]>([
  [
    "members of groups",
    async (locks, id) => (await locks.groupMembership("/g").join(id))[Symbol.asyncDispose](),
  ],
  ["holders of naive mutexes", async (locks, name) => (await locks.naiveMutex(name).acquire()).release()],
  ["holders of mutexes", async (locks, name) => (await locks.mutex(name).acquire()).release()],
])("a session remembers nothing of %s that are gone, however many names they had", async (_what, use) => {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  const claim = vi.spyOn(SessionContext.prototype, "claim");
  const made = vi.spyOn(SessionContext.prototype, "whenOver");
  onTestFinished(() => void vi.restoreAllMocks());
  const locks = zookeeperLocks({ connect: server.connectString });
  onTestFinished(async () => void (await locks.close()));
  for (let count = 0; count < 50; count++) await use(locks, `name-${count}`);
  const context = (claim.mock.contexts[0] ?? made.mock.contexts[0]) as SessionContext;
  await eventually(() => context.nodes.size === 0, { what: "no node" });
});

test("a session remembers nothing of a member of a group that an operator has deleted, once it is put back and disposed of", async () => {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  const claim = vi.spyOn(SessionContext.prototype, "claim");
  onTestFinished(() => void vi.restoreAllMocks());
  const locks = zookeeperLocks({ connect: server.connectString });
  onTestFinished(async () => void (await locks.close()));
  const member = await locks.groupMembership("/g").join("m");
  server.operator.delete("/g/m");
  await eventually(() => claim.mock.calls.length === 2, { what: "the member put back" });
  const context = claim.mock.contexts[0] as SessionContext;
  expect(context.nodes.size).toBe(1);
  await member[Symbol.asyncDispose]();
  expect(context.nodes.size).toBe(0);
});
