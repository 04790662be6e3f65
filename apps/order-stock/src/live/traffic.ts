import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, type LockHandle, type LockProvider } from "@holdfast/core";

/**
 * A branch sells, packs and reads prices, all at once. Headquarters change prices and take stock, and branches have to
 * wait for both. Offices are candidates for the night shift, on one backend after the other.
 */
export type Duty = "branch" | "headquarters" | "office";

export interface Place {
  readonly locks: LockProvider;
  /** Put in front of every name, so that a search for it finds only the locks of this shop. */
  readonly prefix: string;
}

export interface TrafficOptions {
  readonly places: readonly Place[];
  readonly name: string;
  readonly duty: Duty;
  /** Ends everything; what is held is released. */
  readonly signal: AbortSignal;
}

type Act = () => Promise<void>;

const items = 3;
const packingStations = 2;
const stocktakingMs = 25_000;
const betweenStocktakingsMs = 20_000;

/** Does the daily work of one part of the shop. Resolves when `signal` has aborted. */
export async function traffic({ places, name, duty, signal }: TrafficOptions): Promise<void> {
  const day = places.map((place) => actsOf(place, name, signal));
  // A flow that holds something for a long time waits for nothing else meanwhile. Otherwise it would look like a
  // deadlock, because the flows of one process look the same from outside.
  const flows: Act[] = {
    branch: day.flatMap(({ sell, readPrices, pack, lookAtStock }) => [sell, readPrices, pack, lookAtStock]),
    headquarters: day.flatMap(({ changePrices, takeStock }) => [changePrices, takeStock]),
    office: [
      async () => {
        for (const { nightShift } of day) await nightShift();
      },
    ],
  }[duty];
  await Promise.all(flows.map((act) => again(act, signal)));
}

function actsOf({ locks, prefix }: Place, label: string, signal: AbortSignal) {
  const pause = (fromMs: number, toMs: number): Promise<void> => restFor(between(fromMs, toMs), signal);
  const asking = { label, signal };
  const prices = locks.readWriteLock(`${prefix}price-list`);
  const stations = locks.semaphore(`${prefix}packing-stations`, packingStations);
  const stock = locks.mutex(`${prefix}stocktaking`);
  const election = locks.leaderElection(`${prefix}night-shift`);
  return {
    sell: async () => {
      // All branches want the first item most of the time.
      const item = Math.random() < 0.6 ? 1 : Math.ceil(Math.random() * items);
      const mutex = locks.mutex(`${prefix}item-${item}`);
      await mutex.withLock({ ...asking, waitMs: 30_000 }, () => pause(200, 900));
      await pause(100, 500);
    },
    readPrices: async () => {
      await prices.read.withLock(asking, () => pause(300, 900));
      await pause(200, 800);
    },
    changePrices: async () => {
      await pause(3_000, 6_000);
      await prices.write.withLock(asking, () => pause(500, 1_000));
    },
    pack: async () => {
      await stations.withPermit(asking, () => pause(800, 1_600));
      await pause(100, 600);
    },
    takeStock: async () => {
      await stock.withLock({ ...asking, revocable: true }, (lock) =>
        untilAskedBack(lock, stocktakingMs, signal),
      );
      await restFor(betweenStocktakingsMs, signal);
    },
    lookAtStock: async () => {
      await pause(1_000, 3_000);
      await stock.withLock(asking, () => pause(100, 400));
    },
    nightShift: async () => {
      await using term = await election.campaign(asking);
      await restFor(between(5_000, 10_000), AbortSignal.any([signal, term.lost]));
    },
  };
}

/** Operators may end any of these holds and waits. The branch then reports no error and continues. */
async function again(act: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await act();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof HoldfastError)) throw error;
      await restFor(1_000, signal);
    }
  }
}

async function untilAskedBack(lock: LockHandle, ms: number, signal: AbortSignal): Promise<void> {
  await restFor(ms, AbortSignal.any([signal, lock.revokeRequested, lock.lost]));
}

/** Ends early, without an error, when `signal` aborts. */
async function restFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: Error) => {
    if (!signal.aborted) throw error;
  });
}

function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
