import type { LocksQuery } from "../../../src/contract/api.js";

// What a view shows is in the query string of its URL, so that every view is a link.

export const states = ["held", "contended", "idle"] as const;
export const sorts = ["waiters", "wait", "hold", "name"] as const;
export const backends = ["zookeeper", "redis"] as const;

export interface LocksView {
  readonly cluster: string | null;
  readonly backend: (typeof backends)[number] | null;
  readonly q: string;
  readonly state: (typeof states)[number] | null;
  readonly kind: string | null;
  readonly owner: string;
  readonly minAgeMs: number | null;
  readonly sort: (typeof sorts)[number];
  readonly cursor: string | null;
  /** The number of the first row, which the cursor does not contain. */
  readonly from: number;
}

export const everything: LocksView = {
  cluster: null,
  backend: null,
  q: "",
  state: null,
  kind: null,
  owner: "",
  minAgeMs: null,
  sort: "waiters",
  cursor: null,
  from: 1,
};

export const pageSize = 100;
const longest = 512;

function oneOf<T extends string>(values: readonly T[], text: string | null): T | null {
  return values.find((each) => each === text) ?? null;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * The view of an address, which may be typed by hand. A value that is no filter counts as none and is never an error.
 */
export function parseLocksView(search: string): LocksView {
  const query = new URLSearchParams(search);
  const text = (name: string): string => (query.get(name) ?? "").slice(0, longest);
  const cursor = query.get("cursor") || null;
  return {
    cluster: text("cluster") || null,
    backend: oneOf(backends, query.get("backend")),
    q: text("q"),
    state: oneOf(states, query.get("state")),
    kind: text("kind") || null,
    owner: text("owner"),
    minAgeMs: whole(query.get("minAge")) || null,
    sort: oneOf(sorts, query.get("sort")) ?? everything.sort,
    cursor,
    from: cursor === null ? 1 : Math.max(1, whole(query.get("from")) ?? 1),
  };
}

/**
 * The parts of a view that differ from the plain one, without `cluster`, because the caller adds what all pages share.
 */
export function locksViewQuery(view: LocksView): Record<string, string> {
  const query: Record<string, string> = {};
  if (view.q !== "") query.q = view.q;
  if (view.backend !== null) query.backend = view.backend;
  if (view.state !== null) query.state = view.state;
  if (view.kind !== null) query.kind = view.kind;
  if (view.owner !== "") query.owner = view.owner;
  if (view.minAgeMs !== null) query.minAge = String(view.minAgeMs);
  if (view.sort !== everything.sort) query.sort = view.sort;
  if (view.cursor !== null) {
    query.cursor = view.cursor;
    query.from = String(view.from);
  }
  return query;
}

/** The query for the API. */
export function locksApiQuery(view: LocksView): LocksQuery {
  return {
    ...(view.cluster !== null && { cluster: view.cluster }),
    ...(view.backend !== null && { backend: view.backend }),
    ...(view.q !== "" && { q: view.q }),
    ...(view.state !== null && { state: view.state }),
    ...(view.kind !== null && { kind: view.kind }),
    ...(view.owner !== "" && { owner: view.owner }),
    ...(view.minAgeMs !== null && { minAgeMs: view.minAgeMs }),
    ...(view.cursor !== null && { cursor: view.cursor }),
    sort: view.sort,
    limit: pageSize,
  };
}

/** The query for the export: the same rows, of all pages. */
export function exportQuery(view: LocksView): Omit<LocksQuery, "limit" | "cursor"> {
  const { limit, cursor, ...query } = locksApiQuery(view);
  return query;
}

/** Whether any filter other than the cluster hides rows. */
export function isFiltered(view: LocksView): boolean {
  const { q, backend, state, kind, owner, minAgeMs } = view;
  return q !== "" || owner !== "" || [backend, state, kind, minAgeMs].some((each) => each !== null);
}
