import { setTimeout as pass } from "node:timers/promises";
import { type Millis, ProviderClosedError } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import type { RedisNode } from "@holdfast/test-servers";

export interface HeartbeatsOptions {
  /** A server that serves nothing else meanwhile. */
  readonly server: RedisNode;
  /** Locks that one client holds and renews. Default 2,000. */
  readonly holds?: number;
  /** Waiting requests of one client, each of which sends heartbeats. Default 2,000. */
  readonly waiters?: number;
  /** How long each workload is measured, in milliseconds. Default 20,000. */
  readonly phaseMs?: Millis;
  readonly onProgress?: (what: string) => void;
}

/** What the server does in each second while locks are held or waited for, and nothing else happens. */
export interface HeartbeatCost {
  readonly what: string;
  /** Milliseconds of processor time of the server's main thread. */
  readonly cpuMs: number;
  /** Calls of scripts. */
  readonly calls: number;
  /** Commands, including those inside scripts. */
  readonly commands: number;
}

interface Work {
  readonly what: string;
  /** Resolves when each lock is held, or each waiter has its place in the queue. */
  begin(client: RedisLocks, holder: RedisLocks): Promise<unknown>;
}

/** Each hold is renewed three times in its lease. Each waiter sends one heartbeat in a second. */
const leaseMs: Millis = 6_000;
/** After this time the work of the beginning is over, and the first renewals have been spread. */
const settleMs: Millis = leaseMs;

/** Measures what renewals and heartbeats cost one Redis server. */
export async function measureHeartbeats(options: HeartbeatsOptions): Promise<readonly HeartbeatCost[]> {
  const { server, holds = 2_000, waiters = 2_000, phaseMs = 20_000, onProgress = () => {} } = options;
  const costs: HeartbeatCost[] = [];
  for (const { what, begin } of [...holding(holds), ...waiting(waiters)]) {
    const [client, holder] = [1, 2].map(() => redisLocks({ url: server.url, leaseMs })) as [
      RedisLocks,
      RedisLocks,
    ];
    let lost = 0;
    for (const { events } of [client, holder]) events.on("lost", () => lost++);
    try {
      await begin(client, holder);
      await pass(settleMs);
      const before = await usedSoFar(server);
      await pass(phaseMs);
      const after = await usedSoFar(server);
      const seconds = (after.atMs - before.atMs) / 1_000;
      const perSecond = (key: keyof typeof after): number => (after[key] - before[key]) / seconds;
      const [cpuMs, calls, commands] = [perSecond("cpuMs"), perSecond("calls"), perSecond("commands")];
      if (lost > 0) throw new Error(`${what}: ${lost} were lost, as this process was late with renewals`);
      costs.push({ what, cpuMs, calls, commands });
      onProgress(what);
    } finally {
      await Promise.all([client.close(), holder.close()]);
    }
  }
  return costs;
}

function holding(count: number): readonly Work[] {
  const each = (what: string, take: (locks: RedisLocks, name: string) => Promise<unknown>): Work => ({
    what: `${count} holds of ${what}`,
    begin: (client) => Promise.all(numbers(count).map((i) => take(client, `${what} ${i}`))),
  });
  return [
    each("mutexes", (locks, name) => locks.mutex(name).acquire()),
    each("fair mutexes", (locks, name) => locks.fairMutex(name).acquire()),
    each("read locks", (locks, name) => locks.readWriteLock(name).read.acquire()),
    each("permits", async (locks, name) => {
      await locks.permitSemaphore(name).trySetLimit(1);
      await locks.permitSemaphore(name).acquire();
    }),
  ];
}

function waiting(count: number): readonly Work[] {
  const each = (what: string, names: number, lockOf: (locks: RedisLocks, name: string) => Lock): Work => ({
    what: `${count} waiters for ${names === 1 ? `one ${what}` : `${names} of ${what}`}`,
    async begin(client, holder) {
      const nameOf = (i: number): string => `${what} ${i % names}`;
      await Promise.all(numbers(names).map((i) => lockOf(holder, nameOf(i)).acquire()));
      for (const i of numbers(count)) {
        lockOf(client, nameOf(i))
          .acquire()
          .catch((error: unknown) => {
            // The measurement ends by closing the client. Any other end of a wait makes the figures worthless.
            if (!(error instanceof ProviderClosedError)) throw error;
          });
      }
      for (const i of numbers(names)) {
        const mine = Math.floor((count - 1 - i) / names) + 1;
        while ((await lockOf(holder, nameOf(i)).inspect()).pendingTotal !== mine) await pass(20);
      }
    },
  });
  return [
    each("mutex", 1, (locks, name) => locks.mutex(name)),
    each("mutexes", Math.ceil(count / 4), (locks, name) => locks.mutex(name)),
    each("fair mutexes", Math.ceil(count / 4), (locks, name) => locks.fairMutex(name)),
  ];
}

type Lock = ReturnType<RedisLocks["mutex"]>;

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i);
}

async function usedSoFar(
  server: RedisNode,
): Promise<{ atMs: Millis; cpuMs: Millis; calls: number; commands: number }> {
  const atMs = performance.now();
  const info = String(await server.command("INFO", "cpu", "commandstats"));
  const sum = (pattern: RegExp): number =>
    [...info.matchAll(pattern)].reduce((total, [, number]) => total + Number(number), 0);
  return {
    atMs,
    cpuMs: 1_000 * sum(/^used_cpu_(?:user|sys)_main_thread:(\S+)/gm),
    calls: sum(/^cmdstat_evalsha:calls=(\d+)/gm),
    commands: sum(/^cmdstat_[^:]+:calls=(\d+)/gm),
  };
}
