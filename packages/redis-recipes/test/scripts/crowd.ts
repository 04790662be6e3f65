import { share } from "../../../../e2e/support/share.js";
import { ourOwners, type Stage } from "../model/stage.js";

/** The number of waiters on one name. Two fifths of them are dead. */
export const count: number = share("waiters on one name, of which two fifths are dead", 1_000, 5_000);
/** The longest time for which one script may hold up all other clients of a server. */
export const mostMs = 20;
export const name = "orders";
export const leaseMs = 600_000;
export const [holder, newcomer] = ourOwners as [string, string];
export const uuid: string = holder.split(":")[0] as string;
export const waiter = (place: number): string => `${uuid}:${place + 10}`;
const isDead = (place: number): boolean => place % 5 < 2;
const waiters = Array.from({ length: count }, (_, place) => place);
export const living: readonly number[] = waiters.filter((place) => !isDead(place));

/** Makes a held lock with its queue, as enqueueing leaves it. The dead waiters have not been heard for some time. */
export const fill = `
local now = redis.call('TIME')
local nowMs = now[1] * 1000
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], '17')
for place = 0, ARGV[3] - 1 do
  local owner = ARGV[4] .. ':' .. string.format('%.0f', place + 10)
  redis.call('RPUSH', KEYS[3], ARGV[5] == 'fair' and owner or owner .. ' ' .. ARGV[2])
  if ARGV[5] == 'fair' then redis.call('ZADD', KEYS[4], nowMs + 300000 * (place + 1), owner) end
  redis.call('ZADD', KEYS[5], nowMs + (place % 5 < 2 and -1000 or 600000), owner)
end
return 'OK'`;

export interface Call {
  readonly script: { readonly lua: string };
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** The processor time that the server has used so far. Other work on the machine does not count. */
async function usedMs(on: Stage): Promise<number> {
  const info = await on.server.redis.info("cpu");
  const parts = [...info.matchAll(/^used_cpu_(?:user|sys)_main_thread:(\S+)/gm)];
  return parts.reduce((sum, [, seconds]) => sum + 1_000 * Number(seconds), 0);
}

/** The server's processor time for one call, the best of ten. */
export async function busyMs(
  on: Stage,
  prepare: () => Promise<unknown>,
  { script, keys, args }: Call,
): Promise<number> {
  const { redis } = on.server;
  let least = Infinity;
  for (let run = 0; run < 10; run++) {
    await redis.flushall();
    await prepare();
    const before = await usedMs(on);
    await redis.eval(script.lua, keys.length, ...keys, ...args);
    least = Math.min(least, (await usedMs(on)) - before);
  }
  console.log(`${least.toFixed(1)} ms for ${count}`);
  return least;
}
