// An HTTP service that works on each order in one request at a time, in all its replicas together.
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
 * Stands for your payment provider. Hand it the token where it can refuse a smaller one than it has seen, and the signal always.
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
      // A client that waits for longer than this has given up: say so early.
      return await locks
        .mutex(`orders/${id}`)
        .withLock({ waitMs: 1_000 }, (lock, { signal }) => charge(id, { fence: lock.token, signal }));
    } catch (error) {
      // Another request works on this order.
      if (error instanceof AcquireTimeoutError) return reply.code(409).send({ error: "the order is busy" });
      // No server has answered, or this replica shuts down: another replica may serve the request.
      if (error instanceof BackendError || error instanceof ProviderClosedError)
        return reply.code(503).header("retry-after", "1").send({ error: "try again" });
      throw error; // LockLostError too: the charge may have been made, so 500 and a look at it
    }
  });

  return app;
}

const locks = redisLocks({ url: process.env.REDIS_URL ?? "redis://127.0.0.1:6379" });
const app = ordersService(locks);

// On SIGTERM requests that hold a lock finish, others get 503, and then the process ends by the signal.
closeOnSignals(locks, { graceMs: 20_000 });
process.once("SIGTERM", () => app.close());

console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000) })}`);
