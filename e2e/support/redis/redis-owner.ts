/**
 * A process that holds re-entrant mutexes for named owners. It is steered by lines as in `Peer.java`: `connect <url> <leaseMs>`,
 * `take <name> <owner> <waitMs>` (answers the token, or nothing when it was not granted), `release <name>` (releases the last one
 * taken, and answers how it ended), `close`. It ends with its stdin. Started by `redis-owner-process.ts`.
 */
import type { LockHandle } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { answerLines } from "../process/answer-lines.js";

let locks: RedisLocks | undefined;
const taken = new Map<string, LockHandle[]>();

async function run(command: string, args: readonly string[]): Promise<string[]> {
  if (command === "connect") {
    const [url = "", leaseMs = ""] = args;
    locks = redisLocks({ url, leaseMs: Number(leaseMs), heartbeatMs: 200, aliveMs: 700 });
    await locks.ready();
    return [];
  }
  if (locks === undefined) throw new Error(`${command} before connect`);
  if (command === "take") {
    const [name = "", owner = "", waitMs = ""] = args;
    const lock = locks.reentrantMutex(name);
    const handle = await lock.tryAcquire({ owner: { id: owner }, waitMs: Number(waitMs) });
    if (handle === null) return [];
    taken.set(name, [...(taken.get(name) ?? []), handle]);
    return [String(handle.token)];
  }
  if (command === "release") {
    const handle = taken.get(args[0] ?? "")?.pop();
    if (handle === undefined) throw new Error(`nothing taken of ${args[0]}`);
    return [await handle.release()];
  }
  if (command === "close") {
    await locks.close();
    return [];
  }
  throw new Error(`no such command: ${command}`);
}

answerLines((command, ...args) => run(command, args));
