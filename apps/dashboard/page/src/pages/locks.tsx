import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Locks } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { announce } from "../app/announce.js";
import { narrow } from "../app/narrow.js";
import { now } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { duration } from "../format/duration.js";
import { count, many, percent, readSoFar } from "../format/number.js";
import { plain } from "../format/words.js";
import { useLiveList } from "../live/use-live-list.js";
import { ExportLinks } from "../parts/export-links.js";
import { Icon } from "../parts/icon.js";
import { LockTable } from "../parts/lock-table.js";
import { Failed, Loading, NoLocks, Nothing, OldNews } from "../parts/states.js";
import {
  backends,
  exportQuery,
  isFiltered,
  type LocksView,
  locksApiQuery,
  locksViewQuery,
  parseLocksView,
  sorts,
  states,
} from "../url/view-query.js";

const kinds = [
  "mutex",
  "reentrant-mutex",
  "fair-mutex",
  "spin-mutex",
  "semaphore-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
  "semaphore",
  "permit-semaphore",
  "leader-election",
  "barrier",
  "double-barrier",
  "count-down-latch",
];
const ages = [10_000, 60_000, 300_000, 3_600_000];
const ageNames = ["10 s", "1 min", "5 min", "1 h"];
const sortNames = {
  waiters: "most waiters",
  wait: "longest wait",
  hold: "longest hold",
  name: "name",
} as const;

function Choice(props: {
  label: string;
  value: string;
  onChoose: (value: string) => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChoose(event.currentTarget.value)}>
        {props.children}
      </select>
    </label>
  );
}

/** A text filter that waits until the user has stopped writing. */
function Text(props: {
  id: string;
  label: string;
  value: string;
  placeholder: string;
  onWrite: (value: string) => void;
}): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The page is drawn again while the user writes. Then the written text counts, and not the text by which it was
  // filtered so far.
  const [draft, setDraft] = useState<string | null>(null);
  const write = props.onWrite;
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="choice grow">
      <span>{props.label}</span>
      <input
        id={props.id}
        type="search"
        value={draft ?? props.value}
        placeholder={props.placeholder}
        maxLength={512}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const { value } = event.currentTarget;
          setDraft(value);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            write(value);
            setDraft(null);
          }, 300);
        }}
      />
    </label>
  );
}

function Filters({
  filter,
  change,
}: {
  filter: LocksView;
  change: (changed: Partial<LocksView>) => void;
}): JSX.Element {
  const rest = (
    <>
      <Text
        id="filter-owner"
        label="Owner"
        value={filter.owner}
        placeholder="label, address, session"
        onWrite={(owner) => change({ owner })}
      />
      <Choice
        label="Backend"
        value={filter.backend ?? ""}
        onChoose={(value) => change({ backend: backends.find((each) => each === value) ?? null })}
      >
        <option value="">any</option>
        {backends.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Choice>
      <Choice label="Kind" value={filter.kind ?? ""} onChoose={(value) => change({ kind: value || null })}>
        <option value="">any</option>
        {kinds.map((each) => (
          <option key={each} value={each}>
            {plain(each)}
          </option>
        ))}
        {filter.kind !== null && !kinds.includes(filter.kind) && <option>{filter.kind}</option>}
      </Choice>
      <Choice
        label="State"
        value={filter.state ?? ""}
        onChoose={(value) => change({ state: states.find((each) => each === value) ?? null })}
      >
        <option value="">any</option>
        {states.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Choice>
      <Choice
        label="Held at least"
        value={String(filter.minAgeMs ?? "")}
        onChoose={(value) => change({ minAgeMs: value === "" ? null : Number(value) })}
      >
        <option value="">any time</option>
        {ages.map((each, at) => (
          <option key={each} value={each}>
            {ageNames[at]}
          </option>
        ))}
        {filter.minAgeMs !== null && !ages.includes(filter.minAgeMs) && (
          <option value={filter.minAgeMs}>{duration(filter.minAgeMs)}</option>
        )}
      </Choice>
      <Choice
        label="Sort by"
        value={filter.sort}
        onChoose={(value) => change({ sort: sorts.find((each) => each === value) ?? "waiters" })}
      >
        {sorts.map((each) => (
          <option key={each} value={each}>
            {sortNames[each]}
          </option>
        ))}
      </Choice>
    </>
  );
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <Text
        id="filter-q"
        label="Name"
        value={filter.q}
        placeholder="part, or glob: * and ?"
        onWrite={(q) => change({ q })}
      />
      {narrow.value ? (
        <details class="more-filters" open={isFiltered({ ...filter, q: "" })}>
          <summary>More filters, order</summary>
          <div class="filters">{rest}</div>
        </details>
      ) : (
        rest
      )}
    </form>
  );
}

/** How much has been read of all that there is. A list is never shown as complete when it is not. */
function Coverage({ answer }: { answer: Locks }): JSX.Element {
  const { total, known, coverage, lastFullMs } = answer;
  const last =
    lastFullMs === null ? "not yet read in full" : `checked ${duration(now.value - lastFullMs)} ago`;
  return (
    <p class="coverage">
      <strong>{count(total)}</strong> of {many(known, "known lock")}
      <span class={coverage < 1 ? "mark warn badge" : "badge"} title={last}>
        {coverage < 1 && <Icon name="syncing" />}
        {readSoFar(coverage)}, {last}
      </span>
      {coverage < 1 && <span class="note">An exact name in the filter is looked up at the backend.</span>}
    </p>
  );
}

/** Why no row is shown. */
function NoRows({ answer, filter, view }: { answer: Locks; filter: LocksView; view: View }): JSX.Element {
  const { known, coverage } = answer;
  if (!isFiltered(filter) || known === 0) return <NoLocks view={view} />;
  return (
    <Nothing title="The filters hide all" icon="search">
      <p>
        {many(known, "lock")} known, none matches.{" "}
        {coverage < 1 && `Not all of them are read: ${percent(coverage)} so far.`}
      </p>
      <p>
        <a class="button" href={view.href("locks")}>
          Clear the filters
        </a>
      </p>
    </Nothing>
  );
}

/** `shown` is the number of rows on screen. */
function Pager(props: { answer: Locks; filter: LocksView; shown: number; view: View }): JSX.Element | null {
  const { answer, filter, shown, view } = props;
  const { next, rows, total } = answer;
  const { cursor, from } = filter;
  if (next === null && cursor === null) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span class="note">
        {count(from)} to {count(from + Math.max(0, shown - 1))} of {count(total)}
      </span>
      {cursor !== null && (
        <a class="button" href={view.href("locks", locksViewQuery({ ...filter, cursor: null }))}>
          First page
        </a>
      )}
      {next !== null && (
        <a
          class="button"
          href={view.href("locks", locksViewQuery({ ...filter, cursor: next, from: from + rows.length }))}
        >
          Next page
        </a>
      )}
    </nav>
  );
}

export function LocksPage(): JSX.Element {
  const view = useView();
  useTitle("Locks");
  const filter = useMemo(() => parseLocksView(view.search), [view.search]);
  const path = pathWith("locks", locksApiQuery(filter));
  const { data, failure, loading, reload } = useResource<Locks>(path, 15_000);
  const { list, isOfPath, showNow, touch, leave } = useLiveList(path, data, reload);
  const change = (changed: Partial<LocksView>): void =>
    view.go("locks", locksViewQuery({ ...filter, cursor: null, ...changed }), true);

  const rows = list.rows;
  const stale = data === null;
  return (
    <>
      <div class="page-head">
        <h1>Locks</h1>
        {data !== null && <Coverage answer={data} />}
        <ExportLinks list="locks" query={exportQuery(filter)} />
        {list.pending > 0 && (
          <button
            type="button"
            class="pending"
            onClick={() => {
              showNow();
              announce("The list is up to date");
            }}
          >
            Show {many(list.pending, "change")}
          </button>
        )}
      </div>
      <Filters filter={filter} change={change} />
      {failure !== null && data !== null && <OldNews failure={failure} />}
      {failure !== null && stale && <Failed failure={failure} retry={reload} />}
      {loading && stale && isOfPath && <Loading rows={12} />}
      {data !== null && data.rows.length === 0 && rows.length === 0 && (
        <NoRows answer={data} filter={filter} view={view} />
      )}
      {rows.length > 0 && (failure === null || data !== null) && (
        <div
          class={stale ? "stale" : ""}
          onPointerEnter={() => touch("pointer")}
          onPointerLeave={() => leave("pointer")}
          onFocusIn={() => touch("focus")}
          onFocusOut={(event) => {
            const to = event.relatedTarget;
            if (!(to instanceof Node && event.currentTarget.contains(to))) leave("focus");
          }}
        >
          <LockTable
            label="Locks"
            rows={rows}
            gone={list.gone}
            view={view}
            total={data?.total ?? rows.length}
            from={filter.from}
            sorting={{
              by: filter.sort,
              link: (sort) => view.href("locks", locksViewQuery({ ...filter, cursor: null, sort })),
            }}
          />
        </div>
      )}
      {data !== null && <Pager answer={data} filter={filter} shown={rows.length} view={view} />}
    </>
  );
}
