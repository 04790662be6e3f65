import type { History } from "../../history/history.js";
import type { Nanos, WorkerRecord } from "../../history/record.js";
import type { HaltRow, HoldRow, WaitRow } from "./data.js";

/** Whole microseconds; -1 for a time that never comes. */
export const micros = (t: Nanos): number => (Number.isFinite(t) ? Math.round(t / 1e3) : -1);

/** Gives each name its index in a list. */
export class Places {
  readonly names: string[] = [];
  readonly #known = new Map<string, number>();

  of(name: string): number {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#known.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

/** The holds in the order of their keys and grants, and the index of each by the `i` of its grant. */
export function holdRows(
  history: History,
  workers: Places,
  keys: Places,
  causes: Places,
): { rows: HoldRow[]; places: Map<number, number> } {
  const rows: HoldRow[] = [];
  const places = new Map<number, number>();
  for (const { key, holds, operations } of history.keys.values()) {
    const invokes = new Map<number, number>();
    for (const { outcome, end, invoke } of operations) if (outcome === "ok") invokes.set(end, invoke);
    const k = keys.of(key);
    for (const hold of holds) {
      places.set(hold.grant, rows.length);
      rows.push([
        workers.of(hold.p),
        k,
        micros(hold.downgradedFrom !== null ? hold.from : hold.invokedAt),
        micros(hold.from),
        micros(hold.to),
        causes.of(hold.cause),
        hold.mode === "read" ? 1 : 0,
        hold.token === null ? "" : String(hold.token),
        hold.id,
        invokes.get(hold.grant) ?? -1,
        hold.grant,
        hold.end,
      ]);
    }
  }
  return { rows, places };
}

/** The acquires that were not granted. */
export function waitRows(history: History, workers: Places, keys: Places): WaitRow[] {
  const rows: WaitRow[] = [];
  for (const { key, operations } of history.keys.values()) {
    for (const { acquires, outcome, p, invokedAt, endedAt, invoke, end } of operations) {
      if (!acquires || outcome === "ok") continue;
      rows.push([workers.of(p), keys.of(key), micros(invokedAt), micros(endedAt), outcome, invoke, end]);
    }
  }
  return rows;
}

/**
 * The stretches in which workers stood still, and those in which they were dead or had ended, until their next
 * incarnation starts.
 */
export function haltRows(history: History, workers: Places): HaltRow[] {
  const rows: HaltRow[] = [];
  const starts = new Map<string, WorkerRecord[]>();
  for (const [p, records] of history.workers) {
    const name = nameOf(p);
    starts.set(name, [...(starts.get(name) ?? []), ...records.filter(({ f }) => f === "start")]);
  }
  for (const [p, records] of history.workers) {
    let paused: WorkerRecord | null = null;
    for (const record of records) {
      const { f, t, i } = record;
      if (f === "paused") paused ??= record;
      else if (paused !== null) {
        rows.push([workers.of(p), micros(paused.t), micros(t), "paused", paused.i, i]);
        paused = null;
      }
      if (f !== "killed" && f !== "exit") continue;
      const next = starts.get(nameOf(p))?.find((start) => start.t > t);
      const until = next === undefined ? -1 : micros(next.t);
      rows.push([workers.of(p), micros(t), until, f === "killed" ? "dead" : "ended", i, next?.i ?? -1]);
    }
    if (paused !== null) rows.push([workers.of(p), micros(paused.t), -1, "paused", paused.i, -1]);
  }
  return rows;
}

/** The name of a worker without its incarnation. */
const nameOf = (p: string): string => p.split("#")[0] ?? p;
