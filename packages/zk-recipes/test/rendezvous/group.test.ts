import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type GroupMember, type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 6_000 });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
});

const idsOf = (members: readonly GroupMember[] | undefined) => members?.map(({ id }) => id);

test("two loops over one observed group both see each change", async () => {
  server.operator.create("/g");
  const observed = locks.groupMembership("/g").observe();
  const loops = [observed[Symbol.asyncIterator](), observed[Symbol.asyncIterator]()];
  for (const each of loops) expect(idsOf((await each.next()).value)).toEqual([]);
  for (const id of ["a", "b"]) {
    const next = loops.map((each) => each.next());
    server.operator.create(`/g/${id}`);
    for (const each of next) expect(idsOf((await each).value)?.at(-1)).toBe(id);
  }
  for (const each of loops) await each.return?.();
});
