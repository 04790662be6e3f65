// A service passes its own ioredis client, of any supported major version.
import { redisLocks, safeClientOptions } from "@holdfast/redis-recipes";
import { Cluster, Redis } from "ioredis";

process.on("warning", (warning) => {
  throw warning;
});
const client: Redis = new Redis({ ...safeClientOptions, lazyConnect: true });
const cluster: Cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], {
  lazyConnect: true,
  redisOptions: safeClientOptions,
});
for (const locks of [redisLocks({ client }), redisLocks({ client: cluster })]) {
  console.log((await locks.close()).released);
}
client.disconnect();
cluster.disconnect();
// @ts-expect-error: not a client of ioredis
redisLocks.bind(null, { client: { status: "ready" } });
