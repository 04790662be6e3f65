// One customer as a process of its own: `node worker.js <job as JSON>`, started with an IPC channel. It takes the lock,
// looks at the stock, thinks until the main process lets it continue, sells, and exits by itself.
import { once } from "node:events";
import { type LockHandle, LockLostError } from "@holdfast/core";
import { ShopClient } from "./shop/client.js";
import { type Locker, openLocker } from "./worker/locker.js";
import type { LockLoss, OrderReport, Word, WorkerJob, WorkerNews } from "./worker/messages.js";

const job = JSON.parse(process.argv[2] ?? "null") as WorkerJob;

// Ctrl-C reaches every process in the terminal. The process that started this one decides when it ends.
process.on("SIGINT", () => {});

function tell(news: WorkerNews): void {
  if (process.connected) process.send?.(news);
}

async function told(expected: Word): Promise<void> {
  const [word] = (await once(process, "message")) as [Word];
  if (word !== expected) throw new Error(`told to ${word} when waiting for ${expected}`);
}

async function work(shop: ShopClient, locker: Locker): Promise<void> {
  await locker.ready();
  tell({ type: "ready" });
  await told("order");
  let order: OrderReport;
  let loss: LockLoss | null = null;
  try {
    order = await locker.withLock((lock) => placeOrder(shop, lock));
  } catch (error) {
    // The order was carried out completely, but not under the lock all the time. The error carries what the body
    // returned.
    if (!(error instanceof LockLostError) || error.value === undefined) throw error;
    order = error.value as OrderReport;
    loss = { name: error.name, code: error.code, reason: error.reason };
  }
  tell({ type: "finished", order, loss });
}

async function placeOrder(shop: ShopClient, lock: LockHandle | null): Promise<OrderReport> {
  const token = lock?.token?.toString() ?? null;
  const stock = await shop.look();
  tell({ type: "looked", stock, token });
  if (stock < 1) return { outcome: "sold-out", stock, token, heldCheckError: null, highestToken: null };
  await told("write");
  // The worker sells whatever this check says. A stop can come right after the check, so the check alone protects
  // nothing. The shop's gate is there for what this worker does then.
  const heldCheckError = checkHold(lock);
  const sale = await shop.sell(job.name, job.fenced ? (lock?.token ?? null) : null);
  return {
    outcome: sale.sold ? "sold" : "refused",
    stock: sale.stock,
    token,
    heldCheckError,
    highestToken: sale.highestToken,
  };
}

function checkHold(lock: LockHandle | null): string | null {
  try {
    lock?.assertHeld();
    return null;
  } catch (error) {
    return (error as Error).name;
  }
}

async function main(): Promise<void> {
  const shop = await ShopClient.connect(job.shopPort);
  const locker = openLocker(job.locker, job.name);
  let dismissed = false;
  process.on("disconnect", () => {
    // The process that started this one has ended or wants this one to end. The lock is released, whatever is under
    // way.
    dismissed = true;
    void locker.close().finally(() => shop.close());
  });
  try {
    await work(shop, locker);
  } catch (error) {
    if (!dismissed) throw error;
  }
  if (process.connected) process.disconnect();
}

main().catch((error: Error) => {
  tell({ type: "failed", message: error.message });
  process.exitCode = 1;
  if (process.connected) process.disconnect();
});
