// Prometheus metrics of a service's locks, beside its own.
//
//   REDIS_URL=redis://127.0.0.1:6379 PORT=9100 node metrics.mjs
//   curl http://127.0.0.1:9100/metrics

import { lockMetrics } from "@holdfast/metrics";
import { closeOnSignals, redisLocks } from "@holdfast/redis-recipes";
import Fastify from "fastify";
import { Counter, Registry } from "prom-client";

const registry = new Registry(); // or the one that the service has
const sold = new Counter({ name: "shop_sold_total", help: "Items that were sold.", registers: [registry] });

const locks = redisLocks({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" });
closeOnSignals(locks);
// "orders/42" and "orders/43" are counted as one group, "orders/*". The name of a lock is never a label.
lockMetrics(locks, { registry });

await locks.mutex("orders/42").withLock({ waitMs: 2_000 }, () => sold.inc());

const app = Fastify();
app.get("/metrics", async (_request, reply) => {
  reply.header("content-type", registry.contentType);
  return registry.metrics();
});
console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 9100) })}`);
