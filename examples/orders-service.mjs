// An HTTP service in which one request at a time works on each order, over all replicas.
//
//   REDIS_URL=redis://127.0.0.1:6379 PORT=3000 node orders-service.mjs
//   curl -X POST http://127.0.0.1:3000/orders/42/pay

/** @import { FencingToken, LockProvider } from "@holdfast/redis-recipes" */
import { setTimeout as sleep } from "node:timers/promises";
import {
  AcquireTimeoutError,
  BackendError,
  closeOnSignals,
  ProviderClosedError,
  redisLocks,
} from "@holdfast/redis-recipes";
import Fastify from "fastify";

/**
 * Stands for your payment provider. Always pass it the signal. Pass it the token too if it can refuse a token that is smaller
 * than one it has seen.
 *
 * @param {string} order
 * @param {{ fence: FencingToken | null, signal: AbortSignal }} how
 */
async function charge(order, { fence, signal }) {
  await sleep(2_000, undefined, { signal });
  return { order, fence: String(fence) };
}

/** @param {LockProvider} locks */
export function ordersService(locks) {
  const app = Fastify();

  app.post("/orders/:id/pay", async (request, reply) => {
    const { id } = /** @type {{ id: string }} */ (request.params);
    try {
      // A client that has waited longer than this has given up, so answer before that.
      return await locks
        .mutex(`orders/${id}`)
        .withLock({ waitMs: 1_000 }, (lock, { signal }) => charge(id, { fence: lock.token, signal }));
    } catch (error) {
      // Another request works on this order.
      if (error instanceof AcquireTimeoutError) return reply.code(409).send({ error: "the order is busy" });
      // No server has answered, or this replica shuts down. Another replica may serve the request.
      if (error instanceof BackendError || error instanceof ProviderClosedError)
        return reply.code(503).header("retry-after", "1").send({ error: "try again" });
      throw error; // LockLostError too: the charge may have been made. Answer 500, and let a person check it
    }
  });

  return app;
}

const locks = redisLocks({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" });
const app = ordersService(locks);

// On SIGTERM, bodies that hold a lock finish and other requests get 503. Then the process ends by the signal.
closeOnSignals(locks, { graceMs: 20_000 });
process.once("SIGTERM", () => app.close());

console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000) })}`);
