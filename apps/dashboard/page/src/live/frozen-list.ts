import type { LockRow } from "../../../src/contract/api.js";

export interface FrozenList {
  /** As shown, in the shown order, each as fresh as it is known. */
  readonly rows: readonly LockRow[];
  /** Ids among them that are no longer there. */
  readonly gone: ReadonlySet<string>;
  /** What the list would be now; `null`: as shown. */
  readonly next: readonly LockRow[] | null;
  /** How many rows would come, go, or move. */
  readonly pending: number;
}

export const emptyList: FrozenList = { rows: [], gone: new Set(), next: null, pending: 0 };

/** The list as the server has just given it. Frozen: rows change where they stand; what would move them waits. */
export function relist(list: FrozenList, rows: readonly LockRow[], frozen: boolean): FrozenList {
  if (!frozen || list.rows.length === 0) return { ...emptyList, rows };
  const fresh = new Map(rows.map((row) => [row.id, row]));
  const shown = list.rows.map((row) => newer(row, fresh.get(row.id)));
  const gone = new Set([...list.gone].filter((id) => !fresh.has(id)));
  const pending = difference(shown, rows);
  return { rows: shown, gone, next: pending === 0 ? null : rows, pending };
}

/**
 * Changed rows from the stream: content only, the order stays. What the stream brings counts by its order and not by `readMs`, since the
 * server's clock may be set back; a row that an answer has overtaken is corrected by the event of the change that the answer showed.
 */
export function refresh(list: FrozenList, changed: readonly LockRow[]): FrozenList {
  const fresh = new Map(changed.map((row) => [row.id, row]));
  if (!list.rows.some((row) => fresh.has(row.id))) return list;
  const rows = list.rows.map((row) => fresh.get(row.id) ?? row);
  const gone = new Set([...list.gone].filter((id) => !fresh.has(id)));
  const next = list.next?.map((row) => fresh.get(row.id) ?? row) ?? null;
  return { ...list, rows, gone, next };
}

/** Rows that are gone stay in their place, marked, until the list is made anew. */
export function lose(list: FrozenList, ids: readonly string[]): FrozenList {
  const lost = ids.filter((id) => list.rows.some((row) => row.id === id) && !list.gone.has(id));
  if (lost.length === 0) return list;
  const gone = new Set([...list.gone, ...lost]);
  const next = (list.next ?? list.rows).filter((row) => !gone.has(row.id));
  return { ...list, gone, next, pending: difference(list.rows, next) };
}

/** What was waiting, now. */
export const apply = (list: FrozenList): FrozenList => ({ ...emptyList, rows: list.next ?? list.rows });

// An answer may overtake an event: the row that was read later counts.
function newer(shown: LockRow, fresh: LockRow | undefined): LockRow {
  return fresh !== undefined && fresh.readMs >= shown.readMs ? fresh : shown;
}

/** How many of the next list stand elsewhere than now, or nowhere now; and how many of now go. */
function difference(shown: readonly LockRow[], next: readonly LockRow[]): number {
  const coming = new Set(next.map((row) => row.id));
  const leaving = shown.filter((row) => !coming.has(row.id)).length;
  // Those that leave make others move up: that is not a change of its own.
  const staying = shown.filter((row) => coming.has(row.id)).map((row) => row.id);
  const places = new Map(staying.map((id, at) => [id, at]));
  let kept = 0;
  let arrived = 0;
  let moved = 0;
  for (const row of next) {
    const place = places.get(row.id);
    if (place === undefined) arrived += 1;
    else {
      if (place !== kept) moved += 1;
      kept += 1;
    }
  }
  return leaving + arrived + moved;
}
