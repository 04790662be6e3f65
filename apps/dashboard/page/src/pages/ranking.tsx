import type { JSX } from "preact";
import type { RankedLock, Ranking, RankingQuery } from "../../../src/contract/history.js";
import { pathWith } from "../api/client.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { duration } from "../format/duration.js";
import { count, many, rate } from "../format/number.js";
import { At } from "../parts/age.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";
import { StoreNotes } from "../parts/store-notes.js";

type By = NonNullable<RankingQuery["by"]>;
type Window = NonNullable<RankingQuery["window"]>;
type Sort = NonNullable<RankingQuery["sort"]>;

const kinds: Readonly<Record<By, string>> = { lock: "Locks", group: "Groups", owner: "Owners" };
const windows: Readonly<Record<Window, string>> = { hour: "Last hour", day: "Last 24 hours" };

interface Column {
  readonly sort: Sort | null;
  readonly name: string;
  readonly text: (row: RankedLock) => string;
}

const ms = (value: number | null): string => (value === null ? "–" : duration(value));
const columns: readonly Column[] = [
  { sort: "held", name: "Held in total", text: ({ heldMs }) => ms(heldMs) },
  { sort: "hold-max", name: "Longest hold", text: ({ holdMs }) => ms(holdMs.max) },
  { sort: null, name: "Hold p50", text: ({ holdMs }) => ms(holdMs.p50) },
  { sort: "hold-p99", name: "Hold p99", text: ({ holdMs }) => ms(holdMs.p99) },
  { sort: null, name: "Wait p50", text: ({ waitMs }) => ms(waitMs.p50) },
  { sort: "wait-p99", name: "Wait p99", text: ({ waitMs }) => ms(waitMs.p99) },
  { sort: "wait-max", name: "Longest wait", text: ({ waitMs }) => ms(waitMs.max) },
  {
    sort: "contended",
    name: "Waiting, mean",
    text: ({ waiting }) => (waiting > 0 && waiting < 0.1 ? "< 0.1" : rate(waiting)),
  },
  { sort: "lost", name: "Lost", text: ({ lost }) => count(lost) },
  { sort: "grants", name: "Grants", text: ({ grants }) => count(grants) },
];

interface Shown {
  readonly by: By;
  readonly window: Window;
  readonly sort: Sort;
  readonly group: string | null;
}

function oneOf<T extends string>(of: Readonly<Record<T, unknown>>, text: string | null): T | null {
  return text !== null && Object.hasOwn(of, text) ? (text as T) : null;
}

/** Reads the choices from the address. A value that is no choice counts as none, and is never an error. */
function shownOf(search: string): Shown {
  const query = new URLSearchParams(search);
  return {
    by: oneOf(kinds, query.get("by")) ?? "lock",
    window: oneOf(windows, query.get("window")) ?? "day",
    sort: columns.find(({ sort }) => sort === query.get("sort"))?.sort ?? "held",
    group: query.get("group")?.slice(0, 512) || null,
  };
}

function queryOf({ by, window, sort, group }: Shown): Record<string, string> {
  return {
    ...(by !== "lock" && { by }),
    ...(window !== "day" && { window }),
    ...(sort !== "held" && { sort }),
    ...(group !== null && { group }),
  };
}

function Name({ row, shown, view }: { row: RankedLock; shown: Shown; view: View }): JSX.Element {
  const { name, lockId } = row;
  if (shown.by === "owner") return <span class="key">{name}</span>;
  const href =
    lockId === null
      ? view.href("ranking", queryOf({ ...shown, by: "lock", group: name }))
      : view.href(`locks/${encodeURIComponent(lockId)}`, { range: shown.window });
  return (
    <a data-row class="key" href={href} title={lockId === null ? "Show the locks of this group" : undefined}>
      {name}
    </a>
  );
}

export function RankingPage(): JSX.Element {
  const view = useView();
  const shown = shownOf(view.search);
  const { by, window, sort, group } = shown;
  useTitle("Ranking");
  const { data, failure, loading, reload } = useResource<Ranking>(
    pathWith("ranking", {
      ...{ by, window, sort, cluster: view.cluster ?? undefined },
      group: by === "lock" ? (group ?? undefined) : undefined,
    }),
    10_000,
  );
  const to = (next: Partial<Shown>): string => view.href("ranking", queryOf({ ...shown, ...next }));
  const choice = (name: string, on: boolean, next: Partial<Shown>): JSX.Element => (
    <a key={name} class="button small" href={to(next)} aria-current={on ? "true" : undefined}>
      {name}
    </a>
  );
  return (
    <>
      <div class="page-head">
        <h1>Ranking</h1>
        {data !== null && (
          <p class="coverage">
            <strong>{many(data.total, by)}</strong> since <At ms={data.fromMs} zone={view.zone} toSecond />
          </p>
        )}
      </div>
      <div class="choices">
        <nav class="ranges" aria-label="What is ranked">
          {(Object.keys(kinds) as By[]).map((each) =>
            choice(kinds[each], each === by && group === null, { by: each, group: null }),
          )}
        </nav>
        <nav class="ranges" aria-label="Time">
          {(Object.keys(windows) as Window[]).map((each) =>
            choice(windows[each], each === window, { window: each }),
          )}
        </nav>
      </div>
      {group !== null && by === "lock" && (
        <p>
          Locks of the group <strong class="key">{group}</strong>{" "}
          <a class="button small" href={to({ by: "group", group: null })}>
            All groups
          </a>
        </p>
      )}
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && <StoreNotes history={data.history} fromMs={data.fromMs} view={view} />}
      {data !== null && data.rows.length === 0 && (
        <Nothing title="Nothing to rank" icon="idle">
          <p>Nothing of this kind has been seen in this time.</p>
        </Nothing>
      )}
      {data !== null && data.rows.length > 0 && (
        <Scroll label="Ranking">
          <table class="ranking">
            <caption class="hidden-text">{kinds[by]}, the highest first</caption>
            <thead>
              <tr>
                <th scope="col">{kinds[by].slice(0, -1)}</th>
                {columns.map((each) => (
                  <th
                    key={each.name}
                    scope="col"
                    class="number"
                    aria-sort={each.sort === sort ? "descending" : undefined}
                  >
                    {each.sort === null ? each.name : <a href={to({ sort: each.sort })}>{each.name}</a>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.rows.map((row) => (
                <tr key={`${row.cluster} ${row.name}`}>
                  <th scope="row">
                    <Name row={row} shown={shown} view={view} />
                    <span class="note block">
                      {row.cluster}
                      {row.open > 0 && ` · ${count(row.open)} held now`}
                    </span>
                  </th>
                  {columns.map((each) => (
                    <td key={each.name} class="number">
                      {each.text(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      <p class="note">
        Held in total and the longest hold count what goes on until now. A percentile is at most 19 % above
        what was measured. Lost: ended by an expired lease, the end of a session, or a forced release from
        this dashboard.
      </p>
    </>
  );
}
