import type { Millis } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { Latencies, type LatencySummary } from "./latencies.js";

/** An answer this late is a stall, and not an effect of load. */
export const lateAfterMs: Millis = 1_000;
/** The session sends a ping when an answer has been outstanding for this time. */
export const chasedAfterMs: Millis = 100;

export interface PairsOptions {
  readonly connect: string;
  /** How many times the lock is acquired and released. */
  readonly pairs: number;
  /** Default 30,000. With a stock client, a forgotten answer comes after a third of it. */
  readonly sessionTimeoutMs?: Millis;
  /** Default 30,000. One acquire or release that takes longer ends the run with its error. */
  readonly waitMs?: Millis;
  /** Called every `progressEveryMs` (default 5,000), between two pairs. */
  readonly onProgress?: (progress: PairsProgress) => void;
  readonly progressEveryMs?: Millis;
}

export interface PairsProgress {
  readonly done: number;
  readonly pairs: number;
  readonly tookMs: Millis;
}

export interface PairsReport {
  readonly pairs: number;
  readonly tookMs: Millis;
  readonly pairsPerSecond: number;
  /** Every request on the wire, from handing it over to its answer. Keep-alives are among them. */
  readonly answers: LatencySummary;
  /** Answers that took longer than `chasedAfterMs`. The session sent pings to get each of them. */
  readonly chased: number;
  /** Answers that took longer than `lateAfterMs`. */
  readonly late: number;
  /** Requests whose answer was lost with the connection. In a healthy run there are none. */
  readonly unknown: number;
}

/**
 * One session, alone, acquires and releases one free lock again and again. It must be alone: on an ensemble of 3.6.0 to
 * 3.8.0 a server may forget a finished answer until something else arrives (ZOOKEEPER-4537), and with other traffic
 * something always does.
 *
 * Rejects with the error of the first acquire or release that fails.
 */
export async function runPairs(options: PairsOptions): Promise<PairsReport> {
  const { connect, pairs, sessionTimeoutMs = 30_000, waitMs = 30_000, progressEveryMs = 5_000 } = options;
  const answers = new Latencies();
  let unknown = 0;
  const locks = zookeeperLocks({ connect, sessionTimeoutMs, releaseTimeoutMs: waitMs });
  try {
    await locks.ready();
    const mutex = locks.mutex("pairs");
    using _ = locks.events.on("request-settled", ({ tookMs, outcome }) => {
      if (outcome === "unknown") unknown++;
      else answers.add(tookMs);
    });
    const startedMs = performance.now();
    let toldMs = startedMs;
    for (let done = 0; done < pairs; done++) {
      const handle = await mutex.acquire({ waitMs });
      const outcome = await handle.release();
      if (outcome !== "released") throw new Error(`pair ${done + 1} of ${pairs}: release() said ${outcome}`);
      const now = performance.now();
      if (now - toldMs < progressEveryMs) continue;
      toldMs = now;
      options.onProgress?.({ done: done + 1, pairs, tookMs: now - startedMs });
    }
    const tookMs = performance.now() - startedMs;
    return {
      pairs,
      tookMs,
      pairsPerSecond: (pairs / tookMs) * 1_000,
      answers: answers.summary(),
      chased: answers.countOver(chasedAfterMs),
      late: answers.countOver(lateAfterMs),
      unknown,
    };
  } finally {
    await locks.close();
  }
}
