// Locks over the ioredis client that a service already has.
//
//   REDIS_URL=redis://127.0.0.1:6379 node own-ioredis.mjs

import { redisLocks, safeClientOptions } from "@holdfast/redis-recipes";
import { Redis } from "ioredis";

// `safeClientOptions` has what locks need of a client. A process warning names each option that differs, with the value to set.
const client = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379", {
  ...safeClientOptions,
  connectionName: "orders", // and your own options
});
const locks = redisLocks({ client });
await locks.ready(); // the client has no offline queue, so your own commands fail before this

await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, async () => {
  console.log(`the service's own command: ${await client.incr("orders/served")}`);
});

await locks.close(); // gives locks back and leaves the client as it is
console.log(`after close(): ${await client.ping()}`);
await client.quit();
