import type { LockRow } from "../../../src/contract/api.js";

export interface FrozenList {
  /** The rows that are shown, in their shown order, each with the newest content that is known. */
  readonly rows: readonly LockRow[];
  /** The ids of shown rows whose locks are gone. */
  readonly gone: ReadonlySet<string>;
  /** What the list would be now; `null` if that is what is shown. */
  readonly next: readonly LockRow[] | null;
  /** How many rows would come, go or move. */
  readonly pending: number;
}

export const emptyList: FrozenList = { rows: [], gone: new Set(), next: null, pending: 0 };

/** Takes the list that the server has just given. If it is frozen, rows change only in their place, and moves wait. */
export function relist(list: FrozenList, rows: readonly LockRow[], frozen: boolean): FrozenList {
  if (!frozen || list.rows.length === 0) return { ...emptyList, rows };
  const fresh = new Map(rows.map((row) => [row.id, row]));
  const shown = list.rows.map((row) => newer(row, fresh.get(row.id)));
  const gone = new Set([...list.gone].filter((id) => !fresh.has(id)));
  const pending = difference(shown, rows);
  return { rows: shown, gone, next: pending === 0 ? null : rows, pending };
}

/**
 * Takes changed rows from the stream: only their content changes, the order stays. Rows of the stream are taken in the
 * order in which they come and not by `readMs`, because the server's clock may be set back. If an answer has overtaken
 * the stream, a shown row may become older for a moment. The event of the change that the answer showed corrects it.
 */
export function refresh(list: FrozenList, changed: readonly LockRow[]): FrozenList {
  const fresh = new Map(changed.map((row) => [row.id, row]));
  if (!list.rows.some((row) => fresh.has(row.id))) return list;
  const rows = list.rows.map((row) => fresh.get(row.id) ?? row);
  const gone = new Set([...list.gone].filter((id) => !fresh.has(id)));
  const next = list.next?.map((row) => fresh.get(row.id) ?? row) ?? null;
  return { ...list, rows, gone, next };
}

/** Marks rows whose locks are gone. They stay in their place until the list is made anew. */
export function lose(list: FrozenList, ids: readonly string[]): FrozenList {
  const lost = ids.filter((id) => list.rows.some((row) => row.id === id) && !list.gone.has(id));
  if (lost.length === 0) return list;
  const gone = new Set([...list.gone, ...lost]);
  const next = (list.next ?? list.rows).filter((row) => !gone.has(row.id));
  return { ...list, gone, next, pending: difference(list.rows, next) };
}

/** Shows now what was waiting. */
export const apply = (list: FrozenList): FrozenList => ({ ...emptyList, rows: list.next ?? list.rows });

// The stream may have brought a newer row than this answer has, so the row that was read later is taken.
function newer(shown: LockRow, fresh: LockRow | undefined): LockRow {
  return fresh !== undefined && fresh.readMs >= shown.readMs ? fresh : shown;
}

/** How many rows of the next list are new or stand elsewhere, and how many shown rows would go. */
function difference(shown: readonly LockRow[], next: readonly LockRow[]): number {
  const coming = new Set(next.map((row) => row.id));
  const leaving = shown.filter((row) => !coming.has(row.id)).length;
  // Rows that go make others move up. That does not count as a change of its own.
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
