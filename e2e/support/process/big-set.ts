/**
 * A process with one provider that holds very many locks, and measures the turns of its event loop. Steered by lines like `Peer.java`:
 * `connect <backend> <where>`, `fill <held> <waiting>`, `memory <what happens>`, `until <condition> <within ms>`, `close`. It ends with its
 * stdin. Started by `e2e/big-sets.test.ts`.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type LockHandle, type LockProvider, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { redisLocks } from "@holdfast/redis-recipes";
import { zookeeperLocks } from "@holdfast/zk-recipes";

const open: { readonly [backend: string]: (where: string) => LockProvider } = {
  memory: () => memoryLocks(),
  zookeeper: (connect) => zookeeperLocks({ connect, sessionTimeoutMs: 30_000 }),
  redis: (url) => redisLocks({ url, leaseMs: 30_000 }),
};

/** So many are asked for at once, as the asking is the caller's own turn. */
const askedAtOnce = 250;

let locks: LockProvider;
let held: LockHandle[] = [];
let waiting = 0;
let lost = 0;
let settled = 0;
let suspensions = 0;
let longestMs = 0;

/** A turn that another process delays takes no processor time, and one in which the garbage collector helps takes no longer by the clock. */
function watchTurns(): void {
  const beganMs = performance.now();
  const began = process.cpuUsage();
  setImmediate(() => {
    const { user, system } = process.cpuUsage(began);
    longestMs = Math.max(longestMs, Math.min(performance.now() - beganMs, (user + system) / 1_000));
    watchTurns();
  });
}

function longestTurn(): number {
  const ms = Math.round(longestMs);
  longestMs = 0;
  return ms;
}

/** Looks at some thousand in each turn. */
async function allHeld(): Promise<boolean> {
  for (let i = 0; i < held.length; i++) {
    if (held[i]?.state !== "held") return false;
    if (i % 5_000 === 4_999) await sleep(1);
  }
  return true;
}

const conditions: { readonly [name: string]: () => boolean | Promise<boolean> } = {
  filled: () => true,
  suspended: () => suspensions > 0,
  held: () => locks.state === "connected" && allHeld(),
  lost: () => lost === held.length,
  "waiters settled": () => settled === waiting,
};

const commands: { readonly [name: string]: (...args: string[]) => Promise<readonly (string | number)[]> } = {
  async connect(backend = "", where = "") {
    locks = (open[backend] as (typeof open)[string])(where);
    held = [];
    lost = settled = waiting = suspensions = 0;
    locks.events.on("session-state", ({ state }) => {
      if (state === "suspended") suspensions++;
    });
    await locks.ready();
    return [];
  },
  /** The waiters wait for locks that are held here. */
  async fill(heldCount, waitingCount) {
    for (let from = 0; from < Number(heldCount); from += askedAtOnce) {
      const count = Math.min(askedAtOnce, Number(heldCount) - from);
      const part = Array.from({ length: count }, (_, i) => locks.mutex(`lock-${from + i}`).acquire());
      held = held.concat(await Promise.all(part));
    }
    for (const handle of held) handle.lost.addEventListener("abort", () => lost++);
    for (waiting = 0; waiting < Number(waitingCount); waiting++) {
      const settle = (): void => void settled++;
      // The limit keeps the warnings away of waits that cannot end.
      locks.mutex(`lock-${waiting}`).acquire({ waitMs: 900_000 }).then(settle, settle);
      if (waiting % askedAtOnce === 0) await sleep(10);
    }
    await sleep(1_000);
    return [];
  },
  /** The answer is the longest turn since the last answer of this kind, in milliseconds. */
  async until(condition = "", withinMs = "") {
    const endMs = performance.now() + Number(withinMs);
    while (!(await (conditions[condition] as (typeof conditions)[string])())) {
      if (performance.now() > endMs) throw new Error(`not ${condition} within ${withinMs} ms`);
      await sleep(5);
    }
    return [longestTurn()];
  },
  async memory(what) {
    memoryControls(locks)[what as "suspend" | "reconnect" | "expire"]();
    return [];
  },
  async close(releaseTimeoutMs) {
    const { released, unconfirmed } = await locks.close({ releaseTimeoutMs: Number(releaseTimeoutMs) });
    return [longestTurn(), released, unconfirmed.length];
  },
};

function print(words: readonly (string | number)[]): void {
  process.stdout.write(`${words.map(encodeURIComponent).join(" ")}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [id = "", command = "", ...args] = line.split(" ").map(decodeURIComponent);
  (commands[command] as (typeof commands)[string])(...args).then(
    (values) => print([id, "ok", ...values]),
    (error: Error) => print([id, "error", error.name, error.message]),
  );
});
lines.on("close", () => process.exit(0));
watchTurns();
print(["!", "started"]);
