import { EvictedError } from "@holdfast/core";
import {
  type EmbeddedZooKeeper,
  eventually,
  type Fault,
  startEmbeddedZooKeeper,
} from "@holdfast/test-servers";
import { openAcl } from "@holdfast/zk-protocol";
import zookeeper, { type Client } from "node-zookeeper-client";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;

async function connected(options: ZooKeeperLocksOptions = {}): Promise<ZooKeeperLocks> {
  const own = { connect: server.connectString, sessionTimeoutMs: 6_000 };
  const provider = zookeeperLocks(options.client === undefined ? { ...own, ...options } : options);
  onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
  await provider.ready();
  return provider;
}

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = await connected();
});

function given(): Client {
  const client = zookeeper.createClient(server.connectString, { sessionTimeout: 6_000 });
  onTestFinished(() => client.close());
  client.connect();
  return client;
}

/** The next watching read of such a path is refused, as by a server that is too busy. */
function refuseWatch(path: RegExp): Fault {
  return server.faults.on({ op: "getData", path }, { do: "answer", err: "ThrottledOp" });
}

function nodesLike(path: RegExp): string[] {
  return server.nodes().flatMap((node) => (node.owner !== 0n && path.test(node.path) ? [node.path] : []));
}

describe("the end of an own node whose watch was refused once is heard by", () => {
  const holds: [string, RegExp, () => Promise<{ readonly lost: AbortSignal }>][] = [
    ["the holder of a mutex", /lock-/, () => locks.mutex("a").acquire()],
    ["the holder of a read lock", /__READ__/, () => locks.readWriteLock("a").read.acquire()],
    ["the holder of a permit", /lease-/, () => locks.semaphore("a", 2).acquire()],
    ["the holder of a naive mutex", /a$/, () => locks.naiveMutex("a").acquire()],
    ["a leader", /latch-/, () => locks.leaderElection("a").campaign()],
    ["a member of a double barrier", /a\/[0-9a-f-]{36}$/, () => locks.doubleBarrier("a", 1).enter()],
  ];
  test.each(holds)("%s", async (_who, path, take) => {
    const refused = refuseWatch(path);
    const held = await take();
    expect(held.lost.aborted).toBe(false);
    await refused.reached();
    for (const node of nodesLike(path)) server.operator.delete(node);
    await eventually(() => held.lost.aborted, { what: "the lost signal" });
  });

  const ownNode = /lock-0000000001$/;
  const unread = { op: "setWatches" } as const;
  const read = { op: "getData", path: ownNode } as const;
  const waits: [string, typeof unread | typeof read, () => ZooKeeperLocksOptions][] = [
    ["a waiter", unread, () => ({})],
    [
      "a waiter whose provider was given an ACL, and so reads what it watches",
      read,
      () => ({ acl: openAcl }),
    ],
    ["a waiter over a given client, which reads what it watches too", read, () => ({ client: given() })],
  ];
  test.each(waits)("%s", async (_who, asked, options) => {
    await locks.mutex("a").acquire();
    const waiter = await connected(options());
    const refused = server.faults.on(asked, { do: "answer", err: "ThrottledOp" });
    const waiting = waiter.mutex("a").acquire();
    await refused.reached();
    for (const node of nodesLike(ownNode)) server.operator.delete(node);
    await expect(waiting).rejects.toThrow(EvictedError);
  });

  test("a member of a group, which is there again", async () => {
    const refused = refuseWatch(/m$/);
    await locks.groupMembership("g").join("m");
    await refused.reached();
    const [node] = nodesLike(/m$/) as [string];
    const before = server.operator.exists(node)?.czxid;
    server.operator.delete(node);
    await eventually(() => (server.operator.exists(node)?.czxid ?? before) !== before, {
      what: "the member to be there again",
    });
  });
});

test("a request to give a lock back is heard by a holder whose watch was refused once", async () => {
  const refused = refuseWatch(/lock-/);
  const handle = await locks.mutex("a").acquire({ revocable: true });
  const asked = handle.revokeRequested;
  await refused.reached();
  expect(await (await connected()).mutex("a").requestRevoke()).toBe(true);
  await eventually(() => asked.aborted, { what: "the request to be heard" });
});
