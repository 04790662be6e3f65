import { setTimeout as sleep } from "node:timers/promises";
import { systemRuntime } from "@holdfast/core";
import type { RedisNode } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";

/** One lock in this many has a queue. */
const queuedEvery = 200;
const waitersOfQueued = 4;
const sessions = 20;
const locksPerMulti = 200;
const keysPerScript = 10_000;

export const root = "/locks";

/** Locks of Curator, with the holders and queues of 20 clients. They stay until the sessions are closed. */
export class ZooKeeperLocks implements AsyncDisposable {
  readonly #sessions: readonly ZooKeeperSession[];
  #names = 0;

  private constructor(sessions: readonly ZooKeeperSession[]) {
    this.#sessions = sessions;
  }

  static async make(connect: string, count: number): Promise<ZooKeeperLocks> {
    const { servers } = parseConnectString(connect);
    const options = { servers, sessionTimeoutMs: 30_000, runtime: systemRuntime };
    const made = new ZooKeeperLocks(Array.from({ length: sessions }, () => openSession(options)));
    try {
      await made.#fill(count);
      return made;
    } catch (error) {
      await made[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #fill(count: number): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.whenConnected()));
    const [first] = this.#sessions as [ZooKeeperSession];
    await first.request("create", {
      path: root,
      data: null,
      acl: openAcl,
      flags: CreateFlags.persistent,
    });
    let next = 0;
    const work = async (session: ZooKeeperSession): Promise<void> => {
      while (next < count) {
        const from = next;
        const to = Math.min(count, from + locksPerMulti);
        next = to;
        const ops: ReturnType<typeof create>[] = [];
        for (let at = from; at < to; at++) {
          const parent = lockPath(at);
          ops.push(create(parent, CreateFlags.persistent));
          const contenders = at % queuedEvery === 0 ? 1 + waitersOfQueued : 1;
          for (let each = 0; each < contenders; each++) ops.push(this.#contender(parent));
        }
        await session.request("multi", { ops });
      }
    };
    await Promise.all(this.#sessions.map(work));
  }

  /**
   * Contenders come to the first `rows` locks and leave them as long as `going` returns true, at most `perSecond` of
   * them. Returns how many did.
   */
  async churn(rows: number, perSecond: number, going: () => boolean): Promise<number> {
    let pairs = 0;
    let begun = 0;
    const fromMs = performance.now();
    const aheadMs = (): number => (1_000 * begun) / perSecond - (performance.now() - fromMs);
    await Promise.all(
      this.#sessions.map(async (session, at) => {
        for (let round = at; going(); round++) {
          const pauseMs = aheadMs();
          begun += 1;
          if (pauseMs > 0) await sleep(pauseMs);
          const { request } = this.#contender(lockPath(round % rows));
          const { path } = await session.request("create", request);
          await session.request("delete", { path, version: -1 });
          pairs += 1;
        }
      }),
    );
    return pairs;
  }

  #contender(parent: string): ReturnType<typeof create> {
    const hex = (this.#names++).toString(16).padStart(12, "0");
    return create(`${parent}/_c_0b5d6f3a-71c2-4e8f-9a40-${hex}-lock-`, CreateFlags.ephemeralSequential);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.close()));
  }
}

function lockPath(at: number): string {
  return `${root}/order-${String(at).padStart(7, "0")}`;
}

function create(path: string, flags: number) {
  return { op: "create", request: { path, data: Buffer.from("127.0.0.1"), acl: openAcl, flags } } as const;
}

export const pattern = "order:*";

/**
 * Holders as those of Redisson, with one client for each thousand locks. The queues are ours, because our waiters have
 * names.
 */
const locksScript = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local client = string.format('%08x-3b0a-4c5d-9e6f-112233445566', math.floor(i / 1000))
  redis.call('HSET', 'order:' .. i, client .. ':' .. i, '1')
  redis.call('PEXPIRE', 'order:' .. i, 3600000)
  if i % ${queuedEvery} == 0 then
    for waiter = 1, ${waitersOfQueued} do
      redis.call('RPUSH', 'holdfast_waiters:{order:' .. i .. '}', client .. ':' .. (i * 10 + waiter) .. ' 30000')
    end
  end
end`;

const othersScript = `
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  if i % 4 == 0 then redis.call('HSET', 'user:' .. i, 'name', 'Ada') else redis.call('SET', 'session:' .. i, i) end
end`;

export async function fillRedis(node: RedisNode, locks: number, others: number): Promise<void> {
  await filled(node, locksScript, locks);
  await filled(node, othersScript, others);
}

async function filled(node: RedisNode, lua: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += keysPerScript)
    await node.command("EVAL", lua, 0, at, Math.min(count, at + keysPerScript) - 1);
}
