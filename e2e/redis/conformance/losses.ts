import type { LockHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import type { Servers } from "./servers.js";

// Each function ends a hold of one kind at the server, without a message to its holder.

/** Deletes the key of an election, which is a key of our own and not one of Redisson's. */
export async function loseLeadership(servers: Servers, { name }: LockHandle): Promise<void> {
  await (await servers.masterOf(name)).command("DEL", `holdfast_election:{${name}}`);
}

/** Deletes one hold, and the whole lock with its last hold. */
const endHold = `
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
if redis.call('HLEN', KEYS[1]) <= 1 then
  redis.call('DEL', KEYS[1])
elseif string.match(ARGV[1], ':write$') then
  redis.call('HSET', KEYS[1], 'mode', 'read')
end
`;

export async function loseReadOrWrite(
  servers: Servers,
  handle: LockHandle,
  providers: readonly RedisLocks[],
): Promise<void> {
  const { name } = handle;
  const holder = providers.find(
    (provider) => provider.state !== "closed" && provider.holds().some((each) => each.owner === handle.owner),
  );
  if (holder === undefined) throw new Error(`nobody here holds ${name}`);
  const { held } = await holder.readWriteLock(name).inspect();
  const own = held.find((info) => info.owner === handle.owner && info.mode === handle.mode);
  if (own === undefined) throw new Error(`nothing at the server of ${name}`);
  const hold = `{${name}}:${own.backendId}:rwlock_timeout:1`;
  await (await servers.masterOf(name)).command("EVAL", endHold, 2, name, hold, own.backendId);
}

/** Adds the permits to the number again and deletes the marker of the take, as an operator would undo it. */
export async function undoTake(servers: Servers, handle: LockHandle): Promise<void> {
  const { name, permitIds } = handle as LockHandle & { permitIds: readonly string[] };
  const [owner = ""] = (permitIds[0] as string).split("/");
  const node = await servers.masterOf(name);
  await node.command("DEL", `{${name}}:holdfast_take:${owner}`);
  await node.command("INCRBY", name, permitIds.length);
  await publish(servers, `redisson_sc:{${name}}`, permitIds.length);
}

const endPermits = `
for i = 1, #ARGV do
  redis.call('ZREM', KEYS[2], (string.gsub(ARGV[i], '..', function(p) return string.char(tonumber(p, 16)) end)))
end
return redis.call('INCRBY', KEYS[1], #ARGV)
`;

/** Gives the permits back to the pool, as happens to permits whose time is over. */
export async function expirePermits(servers: Servers, handle: LockHandle): Promise<void> {
  const { name, permitIds } = handle as LockHandle & { permitIds: readonly string[] };
  const node = await servers.masterOf(name);
  const free = await node.command("EVAL", endPermits, 2, name, `{${name}}:timeout`, ...permitIds);
  await publish(servers, `redisson_sc:{${name}}`, Number(free));
}

/**
 * Deletes a hold and all barrier entries of its provider. The members in those entries begin with the UUID of the hold's wire
 * owner.
 */
export async function loseBarrierEntries(servers: Servers, { name }: LockHandle): Promise<void> {
  const node = await servers.masterOf(name);
  const [owner = ""] = (await node.command("HKEYS", name)) as string[];
  await node.command("DEL", name);
  const uuid = owner.slice(0, owner.lastIndexOf(":"));
  for (const master of await servers.masters()) {
    for (const key of (await master.command("KEYS", "holdfast_double_barrier_members:*")) as string[]) {
      const members = (await master.command("ZRANGE", key, 0, -1)) as string[];
      for (const member of members.filter((each) => each.startsWith(uuid))) {
        await master.command("ZREM", key, member);
      }
    }
  }
}

/**
 * Publishes on the plain channel and, where there are several servers, on the sharded one too. Our clients listen to one of
 * them.
 */
async function publish(servers: Servers, channel: string, message: number): Promise<void> {
  const node = await servers.masterOf(channel);
  await node.command("PUBLISH", channel, message);
  if (servers.nodes.length > 1) await node.command("SPUBLISH", channel, message);
}
