import type { RedisConnection, RedisNode } from "@holdfast/test-servers";
import { namesOf } from "../../workload/names.js";
import type { WorkerKey } from "../../workload/protocol.js";
import { namesKey } from "../../workload/redis-names.js";
import type { Observer } from "./server-set.js";

/** One script, so that everything is of one moment: the holders and the queue, and the name of each at that moment. */
const look = `
local function listed(key)
  return redis.call('TYPE', key).ok == 'list' and redis.call('LRANGE', key, 0, -1) or {}
end
local held = redis.call('TYPE', KEYS[1]).ok == 'hash' and redis.call('HKEYS', KEYS[1]) or {}
return { held, listed(KEYS[2]), listed(KEYS[3]), redis.call('HGETALL', KEYS[4]) }
`;

/** Every key whose name contains the lock's name, with its type, its time to live and its value. */
const scan = `
local found = {}
local cursor = '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local kind = redis.call('TYPE', key).ok
    found[#found + 1] = { key, kind, redis.call('PTTL', key), kind == 'string' and redis.call('GET', key) or '' }
  end
until cursor == '0'
return found
`;

interface Found {
  readonly key: string;
  readonly kind: string;
  readonly pttlMs: number;
  readonly value: string;
}

/** Observes the servers that are masters at the moment, over connections of its own. */
export class RedisObserver implements Observer {
  readonly #masters: () => Promise<readonly RedisNode[]>;
  readonly #connections = new Map<RedisNode, RedisConnection>();

  constructor(masters: () => Promise<readonly RedisNode[]>) {
    this.#masters = masters;
  }

  async look(key: WorkerKey): Promise<{ holders: readonly string[]; queue: readonly string[] }> {
    const [node, ...others] = await this.#masters();
    if (node === undefined || others.length > 0) throw new Error("there is no queue over several masters");
    const { name } = key;
    const answer = await this.#ask(node, look, [
      name,
      `holdfast_waiters:{${name}}`,
      `redisson_lock_queue:{${name}}`,
      namesKey(name),
    ]);
    const [held, ours, fair, pairs] = answer as [string[], string[], string[], string[]];
    const names = new Map<string, string>();
    for (let at = 0; at + 1 < pairs.length; at += 2) names.set(pairs[at] as string, pairs[at + 1] as string);
    const called = (owner: string): string => names.get(owner.slice(0, owner.indexOf(":"))) ?? owner;
    // An entry of our queue is the owner and its lease.
    const queue = [...ours, ...fair].map((entry) => called(entry.split(" ")[0] as string));
    return { holders: held.map(called), queue };
  }

  async left(key: WorkerKey): Promise<readonly string[]> {
    const nodes = await this.#masters();
    const left = await Promise.all(nodes.map((node) => this.#leftOn(node, key)));
    return left.flat();
  }

  async close(): Promise<void> {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  async #leftOn(node: RedisNode, key: WorkerKey): Promise<string[]> {
    const found = await this.#keysOf(node, key.name);
    return found
      .filter((each) => isLeft(key, each))
      .map(({ key: there, kind, pttlMs }) => {
        const end = pttlMs < 0 ? "no end" : `${pttlMs} ms to live`;
        return `${there} (${kind}, ${end}, port ${node.port})`;
      });
  }

  async #keysOf(node: RedisNode, name: string): Promise<Found[]> {
    const answer = await this.#ask(node, scan, [], [`*${name}*`]);
    return (answer as [string, string, number, string][]).map(([key, kind, pttlMs, value]) => ({
      key,
      kind,
      pttlMs: Number(pttlMs),
      value,
    }));
  }

  async #ask(node: RedisNode, script: string, keys: readonly string[], args: readonly string[] = []) {
    let connection = this.#connections.get(node);
    if (connection === undefined || connection.ended) {
      connection = await node.connect();
      this.#connections.set(node, connection);
    }
    return await connection.command("EVAL", script, keys.length, ...keys, ...args);
  }
}

function isLeft(about: WorkerKey, { key, pttlMs, value }: Found): boolean {
  if (key === namesKey(about.name)) return false;
  // Redisson's semaphore: the key with the number of free permits stays, and that number must be the limit.
  if (key === about.name && about.kind === "semaphore") return Number(value) !== (about.limit ?? 1);
  // The lock itself, in whatever form. It is not held any more, so it may last no longer than a lease.
  if (namesOf(about).includes(key)) return true;
  return pttlMs < 0;
}
