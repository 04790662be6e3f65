/**
 * A process with one provider that holds very many locks, and measures the turns of its event loop. It is steered by lines as in
 * `Peer.java`: `connect <backend> <where> <lease ms>`, `fill <held> <waiting>`, `memory <what happens>`,
 * `until <condition> <within ms>`, `close`. It ends with its stdin. Started by `e2e/big-sets/turns.test.ts`.
 */
import { openSync, readSync } from "node:fs";
import { constants, PerformanceObserver, performance } from "node:perf_hooks";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { type LockHandle, type LockProvider, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { redisLocks } from "@holdfast/redis-recipes";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { answerLines } from "./answer-lines.js";

const open: { readonly [backend: string]: (where: string, leaseMs: number) => LockProvider } = {
  memory: () => memoryLocks(),
  zookeeper: (connect) => zookeeperLocks({ connect, sessionTimeoutMs: 30_000 }),
  redis: (url, leaseMs) => redisLocks({ url, leaseMs }),
};

/** How many locks are asked for at once. All of these calls run in one turn, which belongs to the caller. */
const askedAtOnce = 250;

let locks: LockProvider;
let held: LockHandle[] = [];
let waiting = 0;
let lost = 0;
let settled = 0;
let suspensions = 0;
let renewals = 0;

/**
 * The file begins with the nanoseconds for which this thread has had a processor. By this clock, other processes do not make a
 * turn longer.
 */
const schedule = openSync("/proc/thread-self/schedstat", "r");
const text = Buffer.alloc(64);

function workedMs(): number {
  const length = readSync(schedule, text, 0, text.length, 0);
  return Number.parseInt(text.toString("latin1", 0, length), 10) / 1e6;
}

interface Collection {
  readonly startTime: number;
  readonly duration: number;
  readonly detail?: { readonly kind?: number };
}

/**
 * The kinds of collections that are parts of a full one: the collection itself, its last step after marking in small steps, and
 * the callbacks for the objects that it has found dead. A full collection of a heap with so many objects takes longer than any
 * turn. So the test reports its length beside the turns, and does not count it as a part of a turn.
 */
const full: ReadonlySet<number | undefined> = new Set([
  constants.NODE_PERFORMANCE_GC_MAJOR,
  constants.NODE_PERFORMANCE_GC_INCREMENTAL,
  constants.NODE_PERFORMANCE_GC_WEAKCB,
]);
const collections: Collection[] = [];
const collector = new PerformanceObserver((list) => note(list.getEntries()));
collector.observe({ entryTypes: ["gc"] });

function note(entries: unknown): void {
  const all = entries as readonly Collection[];
  collections.push(...all);
}

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly workedMs: number;
}

/** Turns that are shorter than this are not remembered. */
const shortMs = 10;
/** For a turn that is longer than this, the process writes to standard error which collections were in it. */
const longMs = 45;
let turns: Turn[] = [];

function watchTurns(): void {
  const fromMs = performance.now();
  const beganMs = workedMs();
  setImmediate(() => {
    const turn: Turn = { fromMs, toMs: performance.now(), workedMs: workedMs() - beganMs };
    if (turn.workedMs > shortMs) turns.push(turn);
    watchTurns();
  });
}

/**
 * The longest turn without full collections, and the longest such collection, since the last call. A heap of this size is
 * marked for most of a second, in small steps of which Node.js has no entries. So each measured part begins with a heap that
 * was just collected, and hardly any part needs to mark it.
 */
async function longest(): Promise<[turnMs: number, collectionMs: number]> {
  // The turn that is under way counts too. Node.js makes the entries of its collections in the next turn.
  await turn();
  await turn();
  note(collector.takeRecords());
  const fullOnes = collections.filter(({ detail }) => full.has(detail?.kind));
  const lengths = turns.map(({ fromMs, toMs, workedMs }) => {
    const within = collections.filter(({ startTime }) => startTime >= fromMs && startTime < toMs);
    const ms = within.reduce((sum, { detail, duration }) => sum + (full.has(detail?.kind) ? duration : 0), 0);
    if (workedMs - ms > longMs) tellLong(workedMs, toMs - fromMs, within);
    return workedMs - ms;
  });
  const result = [Math.max(0, ...lengths), Math.max(0, ...fullOnes.map(({ duration }) => duration))];
  gc?.();
  await caughtUp();
  collector.takeRecords();
  turns = [];
  collections.length = 0;
  return result.map(Math.round) as [number, number];
}

function tellLong(workedMs: number, tookMs: number, within: readonly Collection[]): void {
  const told = within.map(({ detail, duration }) => `kind ${detail?.kind}: ${duration.toFixed(1)} ms`);
  process.stderr.write(
    `a turn of ${workedMs.toFixed(0)} ms of a processor in ${tookMs.toFixed(0)} ms; collections in it: ${told.join(", ") || "none"}\n`,
  );
}

/**
 * Waits until the event loop is calm. The forced collection takes most of a second. In that time answers and timers pile up
 * that would come one by one without it.
 */
async function caughtUp(): Promise<void> {
  const endMs = performance.now() + 2_000;
  for (let calm = 0; calm < 10 && performance.now() < endMs; ) {
    const beganMs = workedMs();
    await sleep(5);
    calm = workedMs() - beganMs > shortMs ? 0 : calm + 1;
  }
}

/** Looks at some thousand handles in each turn. */
async function allHeld(): Promise<boolean> {
  for (let i = 0; i < held.length; i++) {
    if (held[i]?.state !== "held") return false;
    if (i % 5_000 === 4_999) await turn();
  }
  return true;
}

const conditions: { readonly [name: string]: () => boolean | Promise<boolean> } = {
  filled: () => true,
  suspended: () => suspensions > 0,
  renewed: () => renewals >= held.length,
  held: () => locks.state === "connected" && allHeld(),
  lost: () => lost === held.length,
  "waiters settled": () => settled === waiting,
};

const commands: { readonly [name: string]: (...args: string[]) => Promise<readonly (string | number)[]> } = {
  async connect(backend = "", where = "", leaseMs = "") {
    locks = (open[backend] as (typeof open)[string])(where, Number(leaseMs));
    held = [];
    lost = settled = waiting = suspensions = 0;
    locks.events.on("session-state", ({ state }) => {
      if (state === "suspended") suspensions++;
    });
    locks.events.on("renewed", () => renewals++);
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
      // Without this limit, the provider would warn of waits that cannot end.
      locks.mutex(`lock-${waiting}`).acquire({ waitMs: 900_000 }).then(settle, settle);
      if (waiting % askedAtOnce === 0) await turn();
    }
    // The waiters asked in order, so once the last one is queued, all of them are.
    const last = locks.mutex(`lock-${waiting - 1}`);
    while (((await last.inspect({ maxPending: 0 })).pendingTotal ?? 0) === 0) await sleep(5);
    renewals = 0;
    return [];
  },
  /** Waits for the condition and answers with `longest()`, as `close` does too. */
  async until(condition = "", withinMs = "") {
    const endMs = performance.now() + Number(withinMs);
    while (!(await (conditions[condition] as (typeof conditions)[string])())) {
      if (performance.now() > endMs) throw new Error(`not ${condition} within ${withinMs} ms`);
      await sleep(5);
    }
    return await longest();
  },
  async memory(what) {
    memoryControls(locks)[what as "suspend" | "reconnect" | "expire"]();
    return [];
  },
  async close(releaseTimeoutMs) {
    const { released, unconfirmed } = await locks.close({ releaseTimeoutMs: Number(releaseTimeoutMs) });
    return [...(await longest()), released, unconfirmed.length];
  },
};

watchTurns();
answerLines((command, ...args) => (commands[command] as (typeof commands)[string])(...args));
