import { setImmediate } from "node:timers/promises";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { expect, it } from "vitest";
import { OneServer, rare } from "../../support/redis/one-redis-server.js";
import { share } from "../../support/share.js";

const server = new OneServer();

/** A number that nothing but the lock protects. */
class Counter {
  value = 0;

  async add(): Promise<void> {
    const before = this.value;
    await setImmediate();
    this.value = before + 1;
  }
}

const manyLocks = (count: number, options = {}): Promise<RedisLocks[]> =>
  Promise.all(Array.from({ length: count }, () => server.locks(options)));

it("19: many callers of one client lose no update", async () => {
  const [callers, turns] = [20, share("turns of 20 callers in one client", 10, 100)];
  const mutex = (await server.locks()).mutex(server.name("callers"));
  const counter = new Counter();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let turn = 0; turn < turns; turn++) await mutex.withLock(() => counter.add());
    }),
  );
  expect(counter.value).toBe(callers * turns);
});

it("20: many clients lose no update, and their tokens rise", async () => {
  const [clients, turns] = [8, share("turns of 8 clients", 25, 250)];
  const name = server.name("clients");
  const counter = new Counter();
  const tokens: bigint[] = [];
  const all = await manyLocks(clients);
  await Promise.all(
    all.map(async (locks) => {
      for (let turn = 0; turn < turns; turn++) {
        await locks.mutex(name).withLock(async ({ token }) => {
          tokens.push(token as bigint);
          await counter.add();
        });
      }
    }),
  );
  expect(counter.value).toBe(clients * turns);
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)));
});

it.each([
  { clients: 2, callers: 1, part: 100 },
  { clients: 5, callers: 2, part: 25 },
  { clients: 10, callers: 1, part: 25 },
])(
  "22: $clients clients with $callers callers each contend, and no wake-up is lost",
  async ({ clients, callers, part }) => {
    const turns = share(`turns of ${clients} x ${callers} contenders`, part, part * 20);
    const name = server.name("wake");
    const counter = new Counter();
    const all = await manyLocks(clients, rare);
    let refused = 0;
    await Promise.all(
      all
        .flatMap((locks) => Array.from({ length: callers }, () => locks.mutex(name)))
        .map(async (mutex) => {
          for (let turn = 0; turn < turns; turn++) {
            const handle = await mutex.tryAcquire({ waitMs: 10_000 });
            if (handle === null) {
              refused++;
              continue;
            }
            await counter.add();
            await handle.release();
          }
        }),
    );
    expect(refused).toBe(0);
    expect(counter.value).toBe(clients * callers * turns);
    expect(
      await server.number("EXISTS", name, `holdfast_waiters:{${name}}`, `holdfast_alive:{${name}}`),
    ).toBe(0);
  },
);
