import { appendFile, readFile, writeFile } from "node:fs/promises";
import type { LockProvider } from "@holdfast/core";

export interface Contention {
  readonly path: string;
  /** A number that nothing but the lock protects. */
  readonly counterFile: string;
  /** Gets one line for each grant of any contender: `label czxid nodeName countBefore`. */
  readonly logFile: string;
  readonly grants: number;
  readonly label: string;
}

const grantWithinMs = 60_000;
const lookEvery = 10;

/**
 * Our side of `Contender.java`. It takes the lock again and again. While it holds, it adds one to the number in the file: two
 * holders at once lose an update. It also writes the line in the log while it holds, so lines stand in the order of the grants.
 *
 * A handle does not show its node. So every tenth grant looks the node up with `inspect()`; the other grants write `-`.
 */
export async function contend(locks: LockProvider, contention: Contention): Promise<void> {
  const { path, grants, label } = contention;
  const mutex = locks.mutex(path);
  for (let grant = 0; grant < grants; grant += 1) {
    const lock = await mutex.acquire({ waitMs: grantWithinMs });
    try {
      let node = "-";
      if (grant % lookEvery === 0) {
        const { held } = await mutex.inspect();
        if (held.length !== 1 || held[0]?.token !== lock.token) {
          throw new Error(
            `${label} holds ${lock.token}, but inspect() shows ${held.map((hold) => hold.backendId)}`,
          );
        }
        node = held[0].backendId.slice(held[0].backendId.lastIndexOf("/") + 1);
      }
      await countGrant(contention, lock.token, node);
    } finally {
      await lock.release();
    }
  }
}

/** To be called while holding. Writes a line to the log, and adds one to the counter. */
export async function countGrant(
  { counterFile, logFile, label }: Contention,
  token: bigint | null,
  node = "-",
): Promise<void> {
  const count = await readCount(counterFile, label);
  await appendFile(logFile, `${label} ${token ?? "-"} ${node} ${count}\n`);
  await writeFile(counterFile, String(count + 1));
}

/** Throws when it sees that another holder is writing at the same time. */
export async function readCount(counterFile: string, label: string): Promise<number> {
  const text = await readFile(counterFile, "utf8");
  if (text === "") throw new Error(`${label} found the counter half written: somebody else holds too`);
  return Number(text);
}
