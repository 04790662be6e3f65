/**
 * A process of ours beside Redisson's. It is steered by lines as in `RedissonPeer.java`, and started by
 * `redisson-contender-process.ts`, which says what each command is given. It ends with its stdin, and then releases nothing.
 */
import type { PermitHandle } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { contendReadWrite, contendSemaphore } from "../../interop/our-contenders.js";
import { answerLines } from "../process/answer-lines.js";
import type {
  HoldWanted,
  OurReadWriteContention,
  OurSemaphoreContention,
} from "./redisson-contender-process.js";
import { acquireOf, type OurContention, takeTurns } from "./redisson-our-turns.js";

let locks: RedisLocks | undefined;

async function run(command: string, given: unknown): Promise<unknown> {
  if (command === "connect") {
    locks = redisLocks(given as RedisLocksOptions);
    return await locks.ready();
  }
  if (locks === undefined) throw new Error(`${command} before connect`);
  switch (command) {
    case "contend":
      return await takeTurns(locks, given as OurContention);
    case "contendReadWrite": {
      const contention = given as OurReadWriteContention;
      return await contendReadWrite(locks.readWriteLock(contention.name), contention);
    }
    case "contendSemaphore": {
      const { kind, name, limit, ...contention } = given as OurSemaphoreContention;
      const semaphore =
        kind === "semaphore" ? locks.plainSemaphore(name, limit) : locks.permitSemaphore(name);
      return await contendSemaphore(semaphore, { ...contention, maxLeases: limit });
    }
    case "hold":
      return await hold(locks, given as HoldWanted);
    case "countDown": {
      const { name, times } = given as { name: string; times: number };
      const latch = locks.countDownLatch(name);
      for (let time = 0; time < times; time += 1) await latch.countDown();
      return undefined;
    }
    case "close":
      return await locks.close();
    default:
      throw new Error(`no such command: ${command}`);
  }
}

/** The hold is never given back, since this process is there to be killed. */
async function hold(
  on: RedisLocks,
  { kind, name, waitMs }: HoldWanted,
): Promise<{ permitIds: readonly string[] }> {
  if (kind === "read") await on.readWriteLock(name).read.acquire({ waitMs });
  else if (kind !== "permitSemaphore") await acquireOf(on, kind, name)({ waitMs });
  else {
    const { permitIds }: PermitHandle = await on.permitSemaphore(name).acquire({ waitMs });
    return { permitIds };
  }
  return { permitIds: [] };
}

answerLines(async (command, given = "null") => [
  JSON.stringify((await run(command, JSON.parse(given))) ?? null),
]);
