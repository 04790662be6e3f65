import type { LockView } from "@holdfast/core";
import { LockWatch } from "../console/lock-watch.js";
import type { LockerChoice, OrderReport } from "../worker/messages.js";
import { WorkerError, type WorkerProcess } from "../worker/worker-process.js";
import type { Stage } from "./stage.js";

export interface RushOptions {
  readonly workers: number;
  readonly items: number;
  readonly locker: LockerChoice;
  /**
   * How long a worker thinks between looking at the stock and selling. As soon as every worker thinks, all stop
   * thinking at once. This makes the race of act 1 certain rather than likely. It never happens where workers are kept
   * apart.
   */
  readonly thinkMs: number;
  /** The lock to show, with its queue, as long as the act lasts. */
  readonly watched?: LockView;
  /** Called with each order as soon as the order has ended. */
  readonly onOrder?: (order: RushOrder) => void;
}

export interface RushOrder extends OrderReport {
  readonly worker: string;
  /** The stock that the worker had seen when it decided. */
  readonly saw: number;
}

export interface Rush {
  readonly orders: readonly RushOrder[];
  readonly stock: number;
  readonly lowestStock: number;
}

/** All workers order one item at the same time, each in a process of its own. */
export async function rush(stage: Stage, options: RushOptions): Promise<Rush> {
  const { shop, screen, signal } = stage;
  const { workers, items, locker, thinkMs, watched, onOrder } = options;
  await shop.restock(items);
  const jobs = Array.from({ length: workers }, (_, index) => ({
    name: `worker-${index + 1}`,
    locker,
    fenced: false,
  }));
  await using cast = await stage.hire(jobs);
  const thinking = new ThinkingTime(workers, thinkMs);
  // Longer than any order should take, including that of the last worker in the queue.
  const limitMs = 60_000 + workers * thinkMs;
  const orderOf = async (worker: WorkerProcess): Promise<RushOrder> => {
    worker.tell("order");
    const { stock: saw } = await worker.said("looked", limitMs);
    if (saw > 0) {
      await thinking.think();
      worker.tell("write");
    }
    const { order: report, loss } = await worker.said("finished", limitMs);
    if (loss !== null) {
      throw new WorkerError(`${worker.name} lost its lock (${loss.reason}); is this machine very busy?`);
    }
    const order = { ...report, worker: worker.name, saw };
    onOrder?.(order);
    return order;
  };
  const watch = watched === undefined ? null : new LockWatch({ lock: watched, shop, screen, signal });
  try {
    const orders = await Promise.all(cast.workers.map(orderOf));
    const { stock, lowestStock } = await shop.report();
    return { orders, stock, lowestStock };
  } finally {
    await watch?.end();
  }
}

export function tellSale(stage: Stage, { worker, saw, stock }: RushOrder): void {
  stage.screen.line(`  ${worker} saw ${saw} in stock and sold one: now ${figure(stage, stock)}`);
}

export function figure(stage: Stage, stock: number): string {
  return stock < 0 ? stage.screen.styled("bad", String(stock)) : String(stock);
}

/** Ends for all when `parties` of them think at the same time, and for each one after `thinkMs`. */
class ThinkingTime {
  readonly #parties: number;
  readonly #thinkMs: number;
  readonly #thinkers = new Set<() => void>();

  constructor(parties: number, thinkMs: number) {
    this.#parties = parties;
    this.#thinkMs = thinkMs;
  }

  async think(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#thinkers.add(resolve);
      timer = setTimeout(() => {
        this.#thinkers.delete(resolve);
        resolve();
      }, this.#thinkMs).unref(); // after an interruption no act waits for it
      if (this.#thinkers.size < this.#parties) return;
      for (const done of this.#thinkers) done();
      this.#thinkers.clear();
    });
    clearTimeout(timer);
  }
}
