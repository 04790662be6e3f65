// What a strict compiler checks of the packages: verbs, handles, options, errors, and mistakes that it must refuse.
import type { Finding, LockCollector } from "@holdfast/collectors";
import { redisCollector } from "@holdfast/collectors/redis";
import { zookeeperCollector } from "@holdfast/collectors/zookeeper";
import {
  HoldfastError,
  type LockHandle,
  LockLostError,
  type LockProvider,
  memoryLocks,
} from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { lockMetrics } from "@holdfast/metrics";
import { multiLock, redLocks } from "@holdfast/multi-lock";
import { type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { Perms } from "@holdfast/zk-protocol";
import { type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";

const zookeeper: ZooKeeperLocksOptions = { connect: "h:1", auth: [{ scheme: "digest", auth: "a:b" }] };
const redis: RedisLocksOptions = { url: "redis://h", leaseMs: 10_000 };

export async function work(signal: AbortSignal): Promise<bigint | null> {
  const server = await startEmbeddedZooKeeper();
  const providers: LockProvider[] = [
    memoryLocks(),
    zookeeperLocks(zookeeper),
    redisLocks(redis),
    redLocks({ nodes: ["redis://a", "redis://b", "redis://c"] }),
  ];
  const [any = memoryLocks()] = providers;
  const lock: LockHandle = await any.mutex("x").acquire({ waitMs: 5, signal });
  const value: number = await any.reentrantMutex("y").withLock(async (inner) => inner.remainingMs());
  const both = await multiLock([any.mutex("a"), any.mutex("b")]).acquire();
  any.events.on("lost", ({ reason, heldMs }) =>
    console.log(reason.length, heldMs.toFixed(), value, both.parts),
  );
  console.log(memoryControls(any).steal("x"), lockMetrics(providers).registry, Perms.READ);
  await server.stop();
  return lock.token;
}

export const told = (error: unknown): string =>
  error instanceof LockLostError ? error.reason : error instanceof HoldfastError ? error.code : "";

// @ts-expect-error: a mistyped option
zookeeperLocks({ connect: "h:1", sesionTimeoutMs: 5 });
// @ts-expect-error: a mistyped option
redisLocks({ url: "redis://h", leaseMS: 5 });
const plain = memoryLocks().mutex("x");
// @ts-expect-error: the body comes last
plain.withLock(async () => {}, { waitMs: 5 });

export function watch(): readonly Finding[] {
  const collectors: LockCollector[] = [
    zookeeperCollector({ connect: "h:1", roots: ["/locks"] }),
    redisCollector({ url: "redis://h", patterns: ["order:*"] }),
  ];
  return collectors.flatMap((each) => each.findings());
}
