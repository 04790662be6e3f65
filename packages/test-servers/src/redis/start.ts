import { freePort } from "../free-port.js";
import { requireRedis } from "../install/ensure.js";
import type { ServerPlace } from "../process/server-place.js";
import { RedisNode } from "./node.js";
import { dataLines, makeSecrets, type RedisOptions } from "./redis-options.js";

/** What `startRedis()` takes. */
export interface StartRedisOptions extends RedisOptions {
  /** Port on 127.0.0.1; default a fresh one. */
  port?: number;
  /** Where it runs; default on 127.0.0.1. */
  place?: ServerPlace;
}

export const startLimitMs = 10_000;

/**
 * A node of a cluster has a second port, by default 10,000 above the first. That lies among the ports that the kernel
 * gives to outgoing connections, so it may be taken. This chooses a free one.
 */
async function busLines({ config = {} }: StartRedisOptions): Promise<string[]> {
  if (config["cluster-enabled"] !== "yes" || config["cluster-port"] !== undefined) return [];
  return [`cluster-port ${await freePort()}`];
}

/**
 * Starts one real redis-server and resolves when it serves.
 *
 * @throws NotInstalledError when there is no server on this machine (`npx holdfast-servers ensure` gets one).
 * @throws TestServerError with the end of the server's log when it does not come up.
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<RedisNode> {
  const install = requireRedis();
  const secrets = makeSecrets(options);
  const node = new RedisNode({
    install,
    port: options.port ?? (await freePort()),
    name: "redis",
    lines: [...dataLines(options, secrets), ...(await busLines(options))],
    secrets,
    startWithinMs: options.startWithinMs ?? startLimitMs,
    at: options.place,
  });
  try {
    await node.spawn();
    await node.ready();
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}
