import { startRedisCluster } from "../redis/cluster.js";
import { startRedisReplicaSet } from "../redis/replica-set.js";
import { startRedis } from "../redis/start.js";
import { StopRequest } from "./stop-request.js";

export const redisKinds = ["single", "sentinel", "cluster"] as const;
export type RedisKind = (typeof redisKinds)[number];

/** Runs servers until SIGINT, SIGTERM or SIGHUP. */
export async function serveRedis(options: { kind: RedisKind; port?: number }): Promise<void> {
  const { kind, port } = options;
  // The listener for signals is made before the servers, so that an early ctrl-C ends them in order, too.
  await using stop = new StopRequest();
  if (kind === "single") {
    await using server = await startRedis(port === undefined ? {} : { port });
    process.stdout.write(`${server.url}\n`);
    await stop.came();
  } else if (kind === "sentinel") {
    await using set = await startRedisReplicaSet();
    process.stdout.write(`sentinels ${addresses(set.sentinelAddresses)} name ${set.name}\n`);
    for (const node of set.nodes) {
      process.stdout.write(`  ${node.url} pid ${node.pid} ${(await node.role()).role}\n`);
    }
    for (const sentinel of set.sentinels) {
      process.stdout.write(`  ${sentinel.address} pid ${sentinel.pid} sentinel\n`);
    }
    await stop.came();
  } else {
    await using cluster = await startRedisCluster();
    process.stdout.write(`cluster ${addresses(cluster.addresses)}\n`);
    for (const node of cluster.nodes) {
      process.stdout.write(`  ${node.url} pid ${node.pid} ${(await node.role()).role}\n`);
    }
    await stop.came();
  }
}

function addresses(list: readonly { host: string; port: number }[]): string {
  return list.map(({ host, port }) => `${host}:${port}`).join(",");
}
