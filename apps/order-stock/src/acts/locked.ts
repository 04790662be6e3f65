import type { LockerChoice } from "../worker/messages.js";
import { figure, rush, tellSale } from "./rush.js";
import { lockName, type Stage } from "./stage.js";
import { judge, type Verdict } from "./verdict.js";

export interface LockedActOptions {
  readonly workers: number;
  readonly items: number;
  /** How long each holder thinks; default 250 ms, long enough to be seen on the screen. */
  readonly thinkMs?: number;
  /** Default: holdfast's mutex on the stage's ZooKeeper. */
  readonly locker?: LockerChoice;
}

/** Long enough for a machine that starts many processes at once. Only act 3 shows the end of a session. */
const sessionTimeoutMs = 10_000;

/** Act 2: the same workers look and sell inside `withLock`. No fence is used: only the lock protects the stock. */
export async function lockedAct(stage: Stage, options: LockedActOptions): Promise<Verdict> {
  const { screen } = stage;
  const { workers, items, thinkMs = 250 } = options;
  const { connect, locks } = await stage.zookeeper();
  const locker = options.locker ?? { kind: "zookeeper", connect, lock: lockName, sessionTimeoutMs };
  screen.line(
    `  ${workers} workers, ${items} items: looking and selling inside mutex("${lockName}").withLock()`,
  );
  const result = await rush(stage, {
    workers,
    items,
    locker,
    thinkMs,
    watched: locks.mutex(lockName),
    onOrder: (order) => {
      if (order.outcome === "sold") tellSale(stage, order);
      else screen.line(`  ${order.worker} was told that it is sold out`);
    },
  });
  const count = (outcome: string) => result.orders.filter((order) => order.outcome === outcome).length;
  return judge([
    {
      promise: "with the lock the stock never goes below zero",
      kept: result.lowestStock >= 0,
      seen: `lowest stock: ${figure(stage, result.lowestStock)}`,
    },
    {
      promise: `exactly ${items} orders are accepted`,
      kept: count("sold") === items && result.stock === 0,
      seen: `${count("sold")} accepted, stock at the end: ${figure(stage, result.stock)}`,
    },
    {
      promise: "all others are told that it is sold out",
      kept: count("sold-out") === workers - items,
      seen: `${count("sold-out")} told`,
    },
  ]);
}
