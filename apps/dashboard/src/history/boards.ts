import type { Database } from "./database.js";
import type { Ledger } from "./ledger.js";
import {
  type RankedRow,
  type RankingAnswer,
  type RankingQuestion,
  type RankingSort,
  type Spread,
  subjectKinds,
} from "./messages.js";
import { type OpenSum, sumOpen } from "./open-holds.js";
import { type Level, levelMs, readTallies } from "./stretches.js";
import { percentileOfBoth, Tally } from "./tally.js";

/**
 * How many ended stretches belong to a window. With the running one, the window is never shorter than its name says.
 */
const stretchesBefore = [6, 24] as const;
/** How many rows are read between two turns of the worker. */
const rowsAtOnce = 5_000;

/**
 * The sums of the ended stretches, by subject, for the last hour and the last day. They are in memory, because a
 * ranking looks at all of them.
 */
export class Boards {
  readonly #ledger: Ledger;
  readonly #closed: [Map<number, Tally> | null, Map<number, Tally> | null] = [null, null];
  /** Numbers the readings of each level. A reading ends when a new stretch has started a later one. */
  readonly #generations: [number, number] = [0, 0];
  #reading: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    for (const level of [0, 1] as const) this.#readLater(level);
  }

  /** `null` while the file is being read after the start. */
  rank(question: RankingQuestion, nowMs: number): RankingAnswer | null {
    const level: Level = question.window === "hour" ? 0 : 1;
    const closed = this.#closed[level];
    return closed === null ? null : rank(this.#ledger, level, closed, question, nowMs);
  }

  /**
   * The running stretch has ended. Its sums count at once; stretches that have left the window go when the rest has
   * been read anew.
   */
  turned(level: Level): void {
    const closed = this.#closed[level];
    if (closed !== null) addAll(closed, this.#ledger.running(level).tallies);
    this.#readLater(level);
  }

  end(): void {
    this.#ended = true;
  }

  #readLater(level: Level): void {
    const generation = ++this.#generations[level];
    const isOver = (): boolean => this.#ended || generation !== this.#generations[level];
    this.#reading = this.#reading
      .then(() => this.#read(level, isOver))
      .catch(() => {
        // The file cannot be read now. Its status reports that, and the next stretch tries again.
      });
  }

  async #read(level: Level, isOver: () => boolean): Promise<void> {
    const sums = new Map<number, Tally>();
    await nextTurn();
    const untilMs = this.#ledger.running(level).startMs;
    let next: ReturnType<typeof readTallies>["next"] = null;
    do {
      if (isOver()) return;
      const read = readTallies(this.#ledger.db, level, windowFrom(level, untilMs), untilMs, rowsAtOnce, next);
      addAll(sums, read.tallies);
      next = read.next;
      await nextTurn();
    } while (next !== null);
    if (!isOver()) this.#closed[level] = sums;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function windowFrom(level: Level, runningMs: number): number {
  return runningMs - stretchesBefore[level] * levelMs[level];
}

function addAll(to: Map<number, Tally>, from: Iterable<readonly [number, Tally]>): void {
  for (const [subject, tally] of from) {
    const sum = to.get(subject) ?? new Tally(tally);
    to.set(subject, sum);
    sum.add(tally);
  }
}

interface Candidate {
  readonly subject: number;
  readonly closed: Tally;
  readonly running: Tally;
  readonly open: OpenSum;
  readonly score: number;
}

const noOpen: OpenSum = { count: 0, heldMs: 0, longestMs: 0 };
const nothing = new Tally({ kind: "lock", cluster: "", group: null });

function rank(
  ledger: Ledger,
  level: Level,
  closed: ReadonlyMap<number, Tally>,
  question: RankingQuestion,
  nowMs: number,
): RankingAnswer {
  const { kind, cluster, group, sort, limit } = question;
  const running = ledger.running(level);
  const fromMs = windowFrom(level, running.startMs);
  const groups = group === null ? null : groupsNamed(ledger.db, group);
  const ownerId = (of: string, name: string): number | null =>
    ledger.subjects.find("owner", of, name)?.id ?? null;
  const opens = sumOpen(ledger.db, question, { fromMs, nowMs }, ownerId);
  const best: Candidate[] = [];
  let total = 0;
  const meet = (subject: number, one: Tally | undefined, other: Tally | undefined): void => {
    const of = one ?? other;
    if (of !== undefined) {
      if (of.kind !== kind || (cluster !== null && of.cluster !== cluster)) return;
      if (groups !== null && (of.group === null || !groups.has(of.group))) return;
    }
    total += 1;
    const parts = { closed: one ?? nothing, running: other ?? nothing, open: opens.get(subject) ?? noOpen };
    const score = scoreOf(sort, parts);
    const last = best.at(-1);
    if (score <= 0 || (best.length >= limit && last !== undefined && score <= last.score)) return;
    const at = best.findIndex((each) => score > each.score);
    best.splice(at === -1 ? best.length : at, 0, { subject, score, ...parts });
    if (best.length > limit) best.pop();
  };
  for (const [subject, tally] of closed) meet(subject, tally, running.tallies.get(subject));
  for (const [subject, tally] of running.tallies) if (!closed.has(subject)) meet(subject, undefined, tally);
  for (const subject of opens.keys())
    if (!closed.has(subject) && !running.tallies.has(subject)) meet(subject, undefined, undefined);
  const spanMs = nowMs - fromMs;
  return {
    ...{ fromMs, toMs: nowMs, total },
    rows: best.flatMap((each) => rowOf(ledger.db, each, spanMs)),
  };
}

function groupsNamed(db: Database, name: string): ReadonlySet<number> {
  const rows = db.prepare("SELECT id FROM subject WHERE kind = 1 AND name = ?").all(name);
  return new Set(rows.map(({ id }) => Number(id)));
}

function scoreOf(
  sort: RankingSort,
  { closed, running, open }: Pick<Candidate, "closed" | "running" | "open">,
): number {
  switch (sort) {
    case "held":
      return closed.heldMs + running.heldMs + open.heldMs;
    case "hold-max":
      return Math.max(closed.holdMaxMs, running.holdMaxMs, open.longestMs);
    case "hold-p99":
      return percentileOfBoth(closed.holds, running.holds, 0.99) ?? 0;
    case "wait-max":
      return Math.max(closed.waitMaxMs, running.waitMaxMs);
    case "wait-p99":
      return percentileOfBoth(closed.waitTimes, running.waitTimes, 0.99) ?? 0;
    case "contended":
      return closed.loadMs + running.loadMs;
    case "lost":
      return closed.lost + running.lost;
    case "grants":
      return closed.grants + running.grants;
  }
}

function rowOf(db: Database, { subject, closed, running, open }: Candidate, spanMs: number): RankedRow[] {
  const named = db
    .prepare(
      "SELECT s.kind, s.cluster, s.backend, s.name, g.name AS grp FROM subject s LEFT JOIN subject g ON g.id = s.grp WHERE s.id = ?",
    )
    .get(subject);
  // A subject without a row yet gets its name with the next write.
  if (named === undefined) return [];
  const sum = new Tally(closed);
  sum.add(closed);
  sum.add(running);
  const isLock = subjectKinds[Number(named.kind)] === "lock";
  return [
    {
      cluster: String(named.cluster),
      backend: !isLock ? null : named.backend === "redis" ? "redis" : "zookeeper",
      name: String(named.name),
      group: named.grp === null ? null : String(named.grp),
      grants: sum.grants,
      ends: sum.ends,
      lost: sum.lost,
      heldMs: Math.round(sum.heldMs + open.heldMs),
      holdMs: spreadOf(sum.holds, Math.max(sum.holdMaxMs, open.longestMs)),
      waits: sum.waits,
      waitedMs: Math.round(sum.waitedMs),
      waitMs: spreadOf(sum.waitTimes, sum.waitMaxMs),
      waiting: spanMs <= 0 ? 0 : sum.loadMs / spanMs,
      open: open.count,
    },
  ];
}

/** A percentile is the bound of a bucket, but never above the longest value. */
export function spreadOf(buckets: readonly number[], maxMs: number): Spread {
  const none: number[] = [];
  const of = (share: number): number | null => {
    const bound = percentileOfBoth(buckets as number[], none, share);
    return bound === null ? null : Math.round(Math.min(bound, Math.max(1, maxMs)));
  };
  const p50 = of(0.5);
  return { p50, p99: of(0.99), max: p50 === null && maxMs === 0 ? null : Math.round(maxMs) };
}
