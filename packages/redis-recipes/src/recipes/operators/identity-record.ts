import { hostname } from "node:os";
import { basename } from "node:path";
import type { Millis, Runtime } from "@holdfast/core";
import type { RedisLine } from "../../client/redis-line.js";
import { clientKey } from "../../layout/identity.js";
import type { Script } from "../../scripts/script.js";

/** How long operators can still read who a client was after it has died. */
const lifeMs: Millis = 120_000;
const againMs: Millis = lifeMs / 3;
const retryMs: Millis = 2_000;
const patienceMs: Millis = 10_000;

const write: Script<unknown> = {
  name: "client-identity",
  keyCount: 1,
  lua: `
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return redis.call('PEXPIRE', KEYS[1], ARGV[1])
`,
  parse: (raw) => raw,
};

/**
 * Writes to `hf:client:<uuid>` who this client is, for operators. There is one record for each client, however many locks it has.
 * The record is kept up until the returned function is called. Waits for the connection itself. No lock depends on it: a write
 * that fails is retried and not reported.
 */
export function keepIdentity(line: RedisLine, runtime: Runtime, uuid: string): () => void {
  const app = basename(process.argv[1] ?? "node");
  const about = {
    label: app,
    host: hostname(),
    pid: String(process.pid),
    app,
    version: process.version,
    start: String(Math.round(runtime.wallMs())),
  };
  const args = [lifeMs, ...Object.entries(about).flat()];
  let closed = false;
  let cancel = (): void => {};
  const say = async (): Promise<void> => {
    let nextMs = againMs;
    try {
      if (line.state !== "connected") await line.whenConnected({ waitMs: patienceMs });
      await line.run(write, [clientKey(uuid)], args);
    } catch {
      nextMs = retryMs;
    }
    if (!closed) cancel = runtime.setTimer(nextMs, () => void say());
  };
  void say();
  return () => {
    closed = true;
    cancel();
  };
}
