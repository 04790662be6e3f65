import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { LockHandle, ReadWriteLock, Semaphore } from "@holdfast/core";
import type { ReadWriteContention, SemaphoreContention } from "../support/curator/java-contention.js";
import { type Contention, countGrant, readCount } from "../support/process/contend.js";
import { Presence } from "./presence.js";

const grantWithinMs = 60_000;
/** The same times, in ms, as in `SharingContender.java`. */
const permitMs = 25;
const holdMs = 2;

/** Our side of `Contender.java`, for any way to acquire exclusively. */
export async function contendBy(
  acquire: (options: { waitMs: number }) => Promise<Pick<LockHandle, "token" | "release">>,
  contention: Contention,
): Promise<void> {
  for (let grant = 0; grant < contention.grants; grant += 1) {
    const hold = await acquire({ waitMs: grantWithinMs });
    try {
      await countGrant(contention, hold.token);
    } finally {
      await hold.release();
    }
  }
}

/** Our side of `SharingContender.java`: one permit, then two, up to `mostAtOnce`. Rejects at the first violation that it sees. */
export async function contendSemaphore(
  semaphore: Semaphore,
  { maxLeases, folder, grants, mostAtOnce = 1, label }: Omit<SemaphoreContention, "path">,
): Promise<{ readonly mostHolders: number }> {
  let mostHolders = 0;
  for (let grant = 0; grant < grants; grant += 1) {
    const permits = 1 + (grant % mostAtOnce);
    const presence = new Presence(folder, label, permits);
    const hold = await semaphore.acquire({ permits, waitMs: grantWithinMs });
    try {
      await presence.enter();
      await delay(permitMs);
      const held = await presence.count();
      if (held > maxLeases) throw new Error(`${label} sees ${held} of ${maxLeases} permits held`);
      mostHolders = Math.max(mostHolders, held);
      await presence.leave();
    } finally {
      await hold.release();
    }
  }
  return { mostHolders };
}

/** Our side of `SharingContender.java`. Rejects at the first violation that it sees. */
export async function contendReadWrite(
  lock: ReadWriteLock,
  contention: Omit<ReadWriteContention, "path">,
): Promise<{ readonly writes: number; readonly mostReaders: number }> {
  const { counterFile, folder, turns, writeEvery, downgrade = false, label } = contention;
  const reader = new Presence(folder, `reader-${label}`);
  const writer = new Presence(folder, `writer-${label}`);
  let writes = 0;
  let mostReaders = 0;

  /** `written`: the count that this client wrote just before it became a reader. */
  async function read(written?: number): Promise<void> {
    await reader.enter();
    const count = written ?? (await readCount(counterFile, label));
    mostReaders = Math.max(mostReaders, await lookAround(reader, counterFile, count, label));
    await reader.leave();
  }

  for (let turn = 0; turn < turns; turn += 1) {
    if (turn % writeEvery !== writeEvery - 1) {
      const hold = await lock.read.acquire({ waitMs: grantWithinMs });
      try {
        await read();
      } finally {
        await hold.release();
      }
      continue;
    }
    const hold = await lock.write.acquire({ waitMs: grantWithinMs });
    let last: LockHandle = hold;
    try {
      await writer.enter();
      const count = (await readCount(counterFile, label)) + 1;
      await writeFile(counterFile, String(count));
      writes += 1;
      await lookAround(writer, counterFile, count, label);
      await writer.leave();
      if (downgrade) {
        last = await hold.downgrade();
        await read(count);
      }
    } finally {
      await last.release();
    }
  }
  return { writes, mostReaders };
}

/** Checks the other holders and the counter. Returns the number of readers. */
async function lookAround(
  presence: Presence,
  counterFile: string,
  count: number,
  label: string,
): Promise<number> {
  await delay(holdMs);
  const readers = await presence.count("reader-");
  const writers = await presence.count("writer-");
  if (writers > 1 || (writers === 1 && readers > 0)) {
    throw new Error(`${label} sees ${writers} writers, ${readers} readers`);
  }
  const after = await readCount(counterFile, label);
  if (after !== count) throw new Error(`${label}: the counter went from ${count} to ${after}`);
  return readers;
}
