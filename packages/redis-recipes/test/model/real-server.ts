import { Redis } from "ioredis";
import type { Script } from "../../src/scripts/script.js";
import type { Content, Key, Published } from "./keyspace.js";

// Reads everything that the server has. Members of sorted sets come as hex, since permit ids are raw bytes.
const dumpLua = `
local time = redis.call('TIME')
local keys = {}
for _, name in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', name).ok
  local held
  if kind == 'string' then held = {redis.call('GET', name)} end
  if kind == 'hash' then held = redis.call('HGETALL', name) end
  if kind == 'list' then held = redis.call('LRANGE', name, 0, -1) end
  if kind == 'zset' then
    held = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
    for i = 1, #held, 2 do
      held[i] = string.gsub(held[i], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
    end
  end
  keys[#keys + 1] = {name, kind, redis.call('PEXPIRETIME', name), held}
end
return {tonumber(time[1]) * 1000000 + tonumber(time[2]), keys}
`;

export interface Snapshot {
  /** Server time of this reading. Everything before it was over by then. */
  readonly nowMs: number;
  readonly keys: ReadonlyMap<string, Key>;
  readonly published: readonly Published[];
}

export function hexOf(text: string): string {
  return Buffer.from(text, "latin1").toString("hex");
}

/** A real server to compare with the models: runs scripts, reads back all keys, and receives all messages. */
export class RealServer {
  readonly redis: Redis;
  readonly #ears: Redis;
  /** Subscribes by names, as Redisson does. `#ears` subscribes by a pattern, which the scripts do not count as a listener. */
  readonly #waiter: Redis;
  readonly #hashes = new Map<string, string>();
  #heard: Published[] = [];
  #marks = 0;
  #onMark: (mark: string) => void = () => {};

  private constructor(port: number) {
    const options = { port, host: "127.0.0.1", lazyConnect: true, maxRetriesPerRequest: 0 };
    this.redis = new Redis(options);
    this.#ears = new Redis(options);
    this.#waiter = new Redis(options);
    for (const each of [this.redis, this.#ears, this.#waiter]) each.on("error", () => undefined);
  }

  static async connect(port: number): Promise<RealServer> {
    const server = new RealServer(port);
    await Promise.all([server.redis.connect(), server.#ears.connect(), server.#waiter.connect()]);
    await server.#ears.psubscribe("*");
    server.#ears.on("pmessage", (_pattern, channel, message) => {
      if (channel === "mark") server.#onMark(message);
      else server.#heard.push({ channel, message });
    });
    return server;
  }

  close(): void {
    this.redis.disconnect();
    this.#ears.disconnect();
    this.#waiter.disconnect();
  }

  /** Begins or ends to wait on a channel, as one Redisson client would. */
  async listen(channel: string, listening: boolean): Promise<void> {
    if (listening) await this.#waiter.subscribe(channel);
    else await this.#waiter.unsubscribe(channel);
  }

  async hashOf(lua: string): Promise<string> {
    const known = this.#hashes.get(lua);
    if (known !== undefined) return known;
    const sha = String(await this.redis.script("LOAD", lua));
    this.#hashes.set(lua, sha);
    return sha;
  }

  async run<R>(script: Script<R>, keys: readonly string[], args: readonly (string | number)[]): Promise<R> {
    const sha = await this.hashOf(script.lua);
    return script.parse(await this.redis.evalsha(sha, keys.length, ...keys, ...args));
  }

  /** Runs one script and reads all keys after it, in one flight. Returns only the messages of that script. */
  async step(
    lua: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<{ raw: unknown; after: Snapshot }> {
    const sha = await this.hashOf(lua);
    const dump = await this.hashOf(dumpLua);
    const mark = String(++this.#marks);
    const heard = new Promise<void>((resolve) => {
      this.#onMark = (message) => {
        if (message === mark) resolve();
      };
    });
    this.#heard = [];
    const [raw, found] = await Promise.all([
      this.redis.evalsha(sha, keys.length, ...keys, ...args),
      this.redis.evalsha(dump, 0),
      this.redis.publish("mark", mark),
    ]);
    await heard;
    return {
      raw,
      after: { nowMs: (found as [number])[0] / 1000, keys: readDump(found), published: this.#heard },
    };
  }
}

function readDump(found: unknown): Map<string, Key> {
  const [, list] = found as [number, [string, string, number, string[]][]];
  return new Map(
    list.map(([name, type, expiresMs, held]) => [
      name,
      { content: contentOf(type, held), expiresMs: expiresMs < 0 ? null : expiresMs },
    ]),
  );
}

function contentOf(type: string, held: string[]): Content {
  const pairs = (): [string, string][] =>
    held.flatMap((each, i) => (i % 2 === 0 ? [[each, held[i + 1] as string] as [string, string]] : []));
  switch (type) {
    case "string":
      return { type, value: held[0] as string };
    case "hash":
      return { type, fields: new Map(pairs()) };
    case "list":
      return { type, items: held };
    case "zset":
      return {
        type,
        scores: new Map(
          pairs().map(([member, score]) => [Buffer.from(member, "hex").toString("latin1"), Number(score)]),
        ),
      };
    default:
      throw new Error(`a key of type ${type}`);
  }
}
