import { InvalidArgumentError } from "@holdfast/core";
import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { type Acl, openAcl } from "@holdfast/zk-protocol";
import { expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "../../src/index.js";

/** More than a server accepts in one request. */
const tooLong = "x".repeat(1_100_000);
const tooLarge: readonly Acl[] = [{ perms: 31, scheme: "digest", id: tooLong }];

async function locksWith(options: ZooKeeperLocksOptions): Promise<ZooKeeperLocks> {
  const server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  const locks = zookeeperLocks({ connect: server.connectString, ...options });
  onTestFinished(async () => void (await locks.close()));
  return locks;
}

test.each([
  ["is too large to send", tooLarge],
  ["has more bits than the protocol has room for", [{ perms: 2 ** 33, scheme: "world", id: "anyone" }]],
])("an ACL of a parent that %s fails that acquire, of every kind, and no other", async (_what, mistaken) => {
  let parents: readonly Acl[] = mistaken;
  const locks = await locksWith({ acl: (path) => (path === "/holdfast" ? parents : openAcl) });
  const naive = locks.naiveMutex("/holdfast/naive");
  for (const lock of [locks.mutex("a"), naive]) {
    await expect(lock.acquire({ waitMs: 60_000 })).rejects.toBeInstanceOf(InvalidArgumentError);
  }
  parents = openAcl;
  for (const lock of [locks.mutex("a"), naive]) expect(await lock.withLock(() => "in")).toBe("in");
});

test("a label of a naive mutex that is too large to send fails that acquire, and no other", async () => {
  const locks = await locksWith({ identity: true });
  const lock = locks.naiveMutex("/naive");
  await expect(lock.acquire({ label: tooLong })).rejects.toBeInstanceOf(InvalidArgumentError);
  expect(await lock.withLock(() => "in")).toBe("in");
});

test.each([
  ["a certificate that is none", { cert: "garbage" }],
  ["ciphers that do not exist", { ciphers: "NOPE" }],
  ["a version that does not exist", { minVersion: "x" as "TLSv1.3" }],
  ["a server name that is no string", { servername: 5 as never }],
])("options of TLS with %s are refused by the factory, which names the option", (_what, tls) => {
  const make = () => zookeeperLocks({ connect: "127.0.0.1:1", tls });
  expect(make).toThrow(InvalidArgumentError);
  expect(make).toThrow(/^zookeeperLocks: tls: /);
});
