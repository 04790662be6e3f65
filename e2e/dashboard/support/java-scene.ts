import { type CuratorClient, curatorVersions, startJavaPeer } from "../../support/curator/java-peer.js";
import type { RedissonClient } from "../../support/redisson/redisson-client.js";
import { startRedissonPeer } from "../../support/redisson/redisson-peer.js";
import { redissonVersions } from "../../support/redisson/redisson-versions.js";
import type { LiveWorld } from "./live-world.js";

/**
 * Two clients of Curator and two of Redisson, and none of ours. On both backends each client (on Redis, one thread of it) holds
 * what the other waits for. On Redis one thread also waits for a lock whose waiters have no queue.
 */
export interface JavaScene extends AsyncDisposable {
  readonly curator: readonly [CuratorClient, CuratorClient];
  readonly redisson: readonly [RedissonClient, RedissonClient];
  readonly paths: readonly [string, string];
  /** Fair locks. */
  readonly keys: readonly [string, string];
  /** A plain lock. */
  readonly plain: string;
}

const paths = ["/live/java/left", "/live/java/right"] as const;
const keys = ["live:java:left", "live:java:right"] as const;
const plain = "live:java:plain";
const waitMs = 120_000;

export async function playJavaScene(world: LiveWorld): Promise<JavaScene> {
  const version = (await curatorVersions()).at(-1);
  const [jar] = (await redissonVersions()).filter(({ missing }) => missing === null);
  if (version === undefined || jar === undefined)
    throw new Error("this machine has no Curator or no Redisson");
  const [curators, redissons] = await Promise.all([
    startJavaPeer({ curator: version }),
    startRedissonPeer({ redisson: jar.version }),
  ]);
  const connect = world.zookeeper.connectString;
  const servers = { mode: "single", address: world.redis.url } as const;
  const curator = [await curators.connect({ connect }), await curators.connect({ connect })] as const;
  const redisson = [await redissons.connect({ servers }), await redissons.connect({ servers })] as const;
  const waits: Promise<unknown>[] = [];
  for (const at of [0, 1] as const) {
    await (await curator[at].mutex(paths[at])).acquire();
    await (await redisson[at].lock(keys[at], "fair")).lock({ thread: `worker ${at}` });
  }
  for (const at of [0, 1] as const) {
    const other = at === 0 ? 1 : 0;
    waits.push((await curator[at].mutex(paths[other])).acquire({ waitMs }));
    waits.push((await redisson[at].lock(keys[other], "fair")).tryLock({ waitMs, thread: `worker ${at}` }));
  }
  await (await redisson[0].lock(plain)).lock();
  waits.push((await redisson[1].lock(plain)).tryLock({ waitMs }));
  // Their processes end before these waits are answered.
  for (const wait of waits) wait.catch(() => {});
  await Promise.all(
    [...paths, ...keys, plain].map((key) => world.dashboard.row(key, ({ waiterCount }) => waiterCount === 1)),
  );
  return {
    curator,
    redisson,
    paths,
    keys,
    plain,
    async [Symbol.asyncDispose]() {
      await Promise.all([curators.close(), redissons.close()]);
    },
  };
}
