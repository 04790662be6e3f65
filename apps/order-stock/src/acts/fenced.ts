import { LockWatch } from "../console/lock-watch.js";
import type { OrderReport } from "../worker/messages.js";
import type { WorkerProcess } from "../worker/worker-process.js";
import { figure } from "./rush.js";
import { lockName, type Stage } from "./stage.js";
import { judge, type Verdict } from "./verdict.js";

export interface FencedActOptions {
  /** Whether sales carry the fencing token; default `true`. */
  readonly fenced?: boolean;
}

/** Three ticks of the stage's own server. Another ensemble may require longer sessions. */
const sessionTimeoutMs = 1_500;

/** How long one step may take. The longest step is the end of a session: 40 s at ZooKeeper's default settings. */
const stepWithinMs = 90_000;

/**
 * Act 3: the holder is stopped in the middle of its order for longer than its session lives. The lock goes to the next
 * worker, as it should. Then the first worker continues where it was stopped, and only the shop can refuse its sale.
 */
export async function fencedAct(stage: Stage, { fenced = true }: FencedActOptions = {}): Promise<Verdict> {
  const { screen, shop } = stage;
  const { connect, locks } = await stage.zookeeper();
  const locker = { kind: "zookeeper", connect, lock: lockName, sessionTimeoutMs } as const;
  const lock = locks.mutex(lockName);
  await shop.restock(1);
  screen.line("  2 workers, 1 item left; the sale carries the fencing token of the hold");
  await using cast = await stage.hire([
    { name: "worker-1", locker, fenced },
    { name: "worker-2", locker, fenced },
  ]);
  const [first, second] = cast.workers as readonly [WorkerProcess, WorkerProcess];
  const watch = new LockWatch({ lock, shop, screen, signal: stage.signal });
  try {
    first.tell("order");
    const stale = await first.said("looked", stepWithinMs);
    screen.line(`  worker-1 has the lock, token ${stale.token}, and saw ${stale.stock} in stock`);
    second.tell("order");
    await watch.until("worker-2 in the queue", stepWithinMs, (seen) => seen.pending.length > 0);

    await first.freeze();
    const stoppedAtMs = performance.now();
    watch.note(first.name, "stopped");
    screen.line("  worker-1 is stopped (SIGSTOP) before it sells; its session runs out");
    const fresh = await second.said("looked", stepWithinMs);
    screen.line(`  worker-2 is granted the lock, token ${fresh.token}, while worker-1 stands still`);
    second.tell("write");
    const { order: sale } = await second.said("finished", stepWithinMs);
    screen.line(`  worker-2: ${describe(stage, sale)}`);

    first.tell("write");
    first.thaw();
    watch.note(first.name, "");
    const stoppedS = ((performance.now() - stoppedAtMs) / 1000).toFixed(1);
    screen.line(`  worker-1 goes on (SIGCONT) after ${stoppedS} s, and sells late with its old token`);
    const { order: late, loss } = await first.said("finished", stepWithinMs);
    screen.line(`  worker-1: ${describe(stage, late)}`);
    if (loss !== null) {
      screen.line(`  worker-1: withLock() rejected with ${loss.name} (${loss.code}, ${loss.reason})`);
    }
    const { lowestStock } = await shop.report();

    return judge([
      {
        promise: "the next grant carries a larger token",
        kept: stale.token !== null && fresh.token !== null && BigInt(fresh.token) > BigInt(stale.token),
        seen: `${stale.token}, then ${fresh.token}`,
      },
      {
        promise: "the present holder sells",
        kept: sale.outcome === "sold",
        seen: sale.outcome,
      },
      {
        promise: "the late sale of the stopped holder is refused",
        kept: late.outcome === "refused",
        seen: `${late.outcome}; token ${late.token}, the shop has seen ${late.highestToken}`,
      },
      {
        promise: "the stopped holder could have known: assertHeld() threw before the late sale",
        kept: late.heldCheckError === "LockLostError",
        seen: late.heldCheckError ?? "it passed",
      },
      {
        promise: "the stopped holder is told: withLock() rejects with LockLostError",
        kept: loss?.code === "HF_LOCK_LOST",
        seen: loss === null ? "not told" : `${loss.code}, ${loss.reason}`,
      },
      {
        promise: "the last item is sold once",
        kept: lowestStock === 0,
        seen: `lowest stock: ${figure(stage, lowestStock)}`,
      },
    ]);
  } finally {
    await watch.end();
  }
}

function describe(stage: Stage, order: OrderReport): string {
  switch (order.outcome) {
    case "sold":
      return `sold one, stock now ${figure(stage, order.stock)}`;
    case "sold-out":
      return "was told that it is sold out";
    case "refused":
      return `the shop refused token ${order.token}: it has already seen ${order.highestToken}`;
  }
}
