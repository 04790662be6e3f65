import {
  type RedisNode,
  type RedisProcess,
  type RedisSentinel,
  UnreachableError,
} from "@holdfast/test-servers";
import type { Persistence } from "../scenario.js";
import type { Server, ServerLog } from "./server-set.js";

/** The longest wait for the answer of a server that does not answer. */
const askMs = 400;

/** A data server, as faults see it. Plans name servers, so the names are the same in each run. */
export const redisServer = (node: RedisNode, name: string): Server =>
  new RedisServer(node, name, async () => (await node.role({ timeoutMs: askMs })).role);

export const sentinelServer = (sentinel: RedisSentinel, name: string): Server =>
  new RedisServer(sentinel, name, async () => {
    using connection = await sentinel.connect({ timeoutMs: askMs });
    await connection.command("PING");
    return "sentinel";
  });

class RedisServer implements Server {
  readonly name: string;
  readonly #process: RedisNode | RedisSentinel;
  readonly #ask: () => Promise<string>;

  constructor(process: RedisNode | RedisSentinel, name: string, ask: () => Promise<string>) {
    this.name = name;
    this.#process = process;
    this.#ask = ask;
  }

  get running(): boolean {
    return this.#process.running;
  }

  async role(): Promise<string | null> {
    try {
      return await this.#ask();
    } catch (error) {
      if (error instanceof UnreachableError) return null;
      throw error;
    }
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }

  pause(): Promise<void> {
    return this.#process.pause();
  }

  resume(): void {
    this.#process.resume();
  }

  restart(): Promise<void> {
    return this.#process.restart();
  }

  evidence(): Record<string, string | number> {
    const { port, running } = this.#process;
    return { port, ...(running && { pid: this.#process.pid }) };
  }
}

export const logOf = (server: RedisProcess, name: string): ServerLog => ({ name, path: server.logFile });

/** The options with which a server keeps what the topology says. */
export function persistenceOptions(persistence: Persistence = "none"): {
  appendOnly?: "always" | "everysec";
  save?: string;
} {
  switch (persistence) {
    case "none":
      return {};
    case "rdb":
      return { save: "3600 1" };
    case "aof-everysec":
      return { appendOnly: "everysec" };
    case "aof-always":
      return { appendOnly: "always" };
  }
}

export async function redisVersions(node: RedisNode): Promise<Record<string, string>> {
  const { redis_version: version } = await node.info("server");
  return version === undefined ? {} : { redis: version };
}

/** Resumes a server that stands still, and starts again one that was killed. */
export async function revive(server: RedisProcess & { restart(): Promise<void> }): Promise<void> {
  if (server.running) server.resume();
  else await server.restart();
}
