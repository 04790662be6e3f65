// A service that a user wrote. One HTTP call takes the lock, works for a while and writes to its store. With TOKENS=1 the
// service passes the fencing token on to the store; without it, the service ignores `lost` and writes all the same.
import { createServer } from "node:http";
import { setTimeout as work } from "node:timers/promises";
import { probe } from "@holdfast/chaos/probe";

const { REDIS_URL: url, ZOOKEEPER: connect, PORT, TOKENS } = process.env;
const locks = connect === undefined ? await onRedis() : await onZooKeeper();
const mutex = locks.mutex("stock");

async function onRedis() {
  const { redisLocks } = await import("@holdfast/redis-recipes");
  return redisLocks({ url, leaseMs: 800, heartbeatMs: 200, aliveMs: 1_000, claimLeaseMs: 700 });
}

async function onZooKeeper() {
  const { zookeeperLocks } = await import("@holdfast/zk-recipes");
  return zookeeperLocks({ connect, sessionTimeoutMs: 1_000 });
}

async function sell() {
  const acquiring = probe.acquiring("stock");
  let lock;
  try {
    lock = await mutex.acquire({ waitMs: 10_000 });
  } catch (error) {
    acquiring.unknown(error);
    return false;
  }
  const held = acquiring.granted({
    ...(TOKENS === "1" ? { token: lock.token } : {}),
    remainingMs: lock.remainingMs(),
    lost: lock.lost,
  });
  await work(150);
  const written = await held.write();
  const releasing = held.releasing();
  const outcome = await lock.release();
  if (outcome === "released") releasing.ok();
  else if (outcome === "lost") releasing.fail(outcome);
  else releasing.unknown(outcome);
  return written;
}

const server = createServer(async (request, response) => {
  if (request.url === "/healthz") {
    response.end("ok");
    return;
  }
  try {
    response.statusCode = (await sell()) ? 200 : 409;
  } catch (error) {
    console.error(error);
    response.statusCode = 500;
  }
  response.end();
});

await locks.ready({ waitMs: 30_000 });
server.listen(Number(PORT), "127.0.0.1");
process.on("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
  void locks.close().then(() => process.exit(0));
});
