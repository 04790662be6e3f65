import { startEmbeddedZooKeeper, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackages, emit } from "../support/process/emit.js";
import { LineProcess } from "../support/process/line-process.js";
import { share } from "../support/share.js";

const mostMs = 50;
const held = share("locks held by one provider", 2_000, 100_000);
const waiting = held / 10;
const withinMs = 120_000 + 4 * held;
/**
 * Each lock is renewed after a third of this lease. With few locks the lease is short, so that the test does not wait for
 * long. With 100,000 locks it is a minute: one client renews about 12,000 locks a second, and with 15 s it would have no time
 * for anything else.
 */
const leaseMs = Math.max(3_000, 0.6 * held);

/** A backend, and the faults that come to a provider from outside. */
interface World extends AsyncDisposable {
  readonly where: string;
  /** Whether each lock has its own lease, which the provider renews. */
  readonly renews?: boolean;
  /** Breaks contact, which comes back by itself or by `mend`. */
  cut(set: LineProcess): Promise<unknown>;
  mend?(set: LineProcess): Promise<unknown>;
  /** Ends all holds. */
  end(set: LineProcess): Promise<unknown>;
}

const ask = (set: LineProcess, command: string, ...args: string[]): Promise<string[]> =>
  set.request(command, args, withinMs);

const worlds: { readonly [backend: string]: () => Promise<World> } = {
  memory: async () => ({
    where: "-",
    cut: (set) => ask(set, "memory", "suspend"),
    mend: (set) => ask(set, "memory", "reconnect"),
    end: (set) => ask(set, "memory", "expire"),
    [Symbol.asyncDispose]: async () => {},
  }),
  zookeeper: async () => {
    const server = await startEmbeddedZooKeeper();
    const sessions = (): bigint[] => server.sessions().map(({ id }) => id);
    return {
      where: server.connectString,
      cut: async () => sessions().map((id) => server.dropConnection(id, { reset: true })),
      end: async () => {
        for (const id of sessions()) {
          // The client learns of the end by its next connection, as it does nearly always.
          server.dropConnection(id, { reset: true });
          server.expireSession(id);
        }
      },
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
  redis: async () => {
    const server = await startRedis();
    const proxy = await startRedisProxy({ target: { host: server.host, port: server.port } });
    const redis = new Redis(server.url);
    return {
      where: `redis://${proxy.host}:${proxy.port}`,
      renews: true,
      cut: async () => proxy.resetAll(),
      // The next renewal of each hold finds that the hold is gone.
      end: () => redis.flushall(),
      async [Symbol.asyncDispose]() {
        redis.disconnect();
        await proxy.close();
        await server.stop();
      },
    };
  },
};

let emitted: Awaited<ReturnType<typeof emit>>;
beforeAll(async () => {
  await buildPackages("@holdfast/zk-recipes", "@holdfast/redis-recipes");
  emitted = await emit("support/process/big-set");
});
afterAll(() => emitted[Symbol.asyncDispose]());

describe.each(Object.keys(worlds))("%s", (backend) => {
  it(
    `a provider with very many locks and waiters has no turn of the event loop above ${mostMs} ms at a renewal of all, a cut, a reconnect, the end of its session and its close`,
    async () => {
      await using world = await (worlds[backend] as (typeof worlds)[string])();
      const set = new LineProcess(process.execPath, ["--expose-gc", emitted.file]);
      try {
        const longest: Record<string, number> = {};
        let collected = 0;
        const turns = async (what: string, command: string, ...args: string[]): Promise<string[]> => {
          const [turnMs, collectionMs, ...rest] = await ask(set, command, ...args);
          longest[what] = Number(turnMs);
          collected = Math.max(collected, Number(collectionMs));
          return rest;
        };
        const until = (what: string, condition: string) => turns(what, "until", condition, String(withinMs));
        const fill = async () => {
          await ask(set, "connect", backend, world.where, String(leaseMs));
          await ask(set, "fill", String(held), String(waiting));
          await ask(set, "until", "filled", "1");
        };

        await fill();
        if (world.renews) await until("renewal", "renewed");
        await world.cut(set);
        await until("cut", "suspended");
        await world.mend?.(set);
        await until("reconnect", "held");
        const [released, unconfirmed] = await turns("close", "close", String(withinMs));
        expect({ released, unconfirmed }).toEqual({ released: String(held), unconfirmed: "0" });

        await fill();
        await world.end(set);
        await until("end of the session", "lost");
        await world.mend?.(set);
        await until("waiters on the next session", "waiters settled");
        await turns("close of the next session", "close", String(withinMs));
        console.log(
          `${backend}, ${held} held and ${waiting} waiting, longest turns in ms: ${JSON.stringify(longest)}, longest part of a full collection of the heap ${collected} ms\n${set.stderr}`,
        );
        expect(Object.entries(longest).filter(([, ms]) => ms > mostMs)).toEqual([]);
      } finally {
        await set.kill();
      }
    },
    2 * withinMs,
  );
});
