import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LockRow } from "../../../src/contract/api.js";
import { narrow } from "../app/narrow.js";
import { clusters, now } from "../app/store.js";
import type { View } from "../app/view.js";
import { noHolderWord, noWaitWord } from "../format/absence.js";
import { duration } from "../format/duration.js";
import { instant } from "../format/instant.js";
import { count } from "../format/number.js";
import { middle, short } from "../format/participant.js";
import { kindOf, waitersOf } from "../format/words.js";
import type { LocksView } from "../url/view-query.js";
import { Age } from "./age.js";
import { Icon } from "./icon.js";
import { Lease, LockState } from "./marks.js";
import { Scroll } from "./scroll.js";
import { Libraries, Who } from "./who.js";

/** `true` for 2 s after `version` has changed, because another client holds the lock now. */
function useHandOff(version: string): boolean {
  const before = useRef(version);
  const [fresh, setFresh] = useState(false);
  useEffect(() => {
    if (before.current === version) return;
    before.current = version;
    setFresh(true);
    const timer = setTimeout(() => setFresh(false), 2000);
    return () => clearTimeout(timer);
  }, [version]);
  return fresh;
}

/** Whether the row's cluster is too old for the row to be trusted. */
export function isStale(row: LockRow): boolean {
  const cluster = (clusters.value ?? []).find(({ name }) => name === row.cluster);
  return cluster !== undefined && (cluster.state === "stale" || cluster.state === "down");
}

interface RowProps {
  row: LockRow;
  index: number;
  view: View;
  gone: boolean;
  brief: boolean;
}

function Name({ row, view, gone }: RowProps): JSX.Element {
  return (
    <>
      <a class="key" data-row href={view.href(`locks/${row.id}`)} title={row.key}>
        {middle(row.key, 64)}
      </a>
      {gone && <span class="tag">gone</span>}
      {row.denied !== null && (
        <span class="mark bad denied" title={row.denied}>
          <Icon name="denied" />
          Not readable: {row.denied}
        </span>
      )}
    </>
  );
}

function State({ row, view }: RowProps): JSX.Element {
  return (
    <>
      <LockState state={row.state} />
      {isStale(row) && (
        <span class="note" title={instant(row.readMs, view.zone)}>
          {" "}
          as of {duration(now.value - row.readMs)} ago
        </span>
      )}
    </>
  );
}

function HeldBy({ row }: RowProps): JSX.Element {
  const [holder] = row.holders;
  if (holder === undefined) return <span class="note">{noHolderWord(row, isStale(row))}</span>;
  return (
    <>
      <Who participant={holder} cluster={row.cluster} />
      {row.holderCount > 1 && (
        <span class="tag">
          +{count(row.holderCount - 1)}
          {row.limit !== null && ` of ${count(row.limit)}`}
        </span>
      )}
    </>
  );
}

function Waiters({ row }: RowProps): JSX.Element {
  return row.waiterCount === 0 && row.waiterUnit !== "hidden" ? (
    <span class="note">0</span>
  ) : (
    <span>{waitersOf(row).text}</span>
  );
}

/** For a narrow window: what an operator asks first is below the name. */
function NarrowCells(props: RowProps): JSX.Element {
  const { row, view } = props;
  return (
    <>
      <th scope="row" class="lock-name">
        <Name {...props} />
        <span class="second-line">
          <State {...props} />
          <span class="holder">
            <HeldBy {...props} />
          </span>
          {row.holderCount > 0 && row.oldestHold.atMs !== null && (
            <span>
              held <Age of={row.oldestHold} zone={view.zone} />
            </span>
          )}
        </span>
      </th>
      <td class="number waiters" title={waitersOf(row).why}>
        <Waiters {...props} />
        {row.waiterCount > 0 && row.oldestWait.atMs !== null && <Age of={row.oldestWait} zone={view.zone} />}
      </td>
    </>
  );
}

function Row(props: RowProps): JSX.Element {
  const { row, index } = props;
  const fresh = useHandOff(row.version);
  const classes = [fresh && "fresh", props.gone && "gone", isStale(row) && "stale"].filter(Boolean).join(" ");
  return (
    <tr class={classes} aria-rowindex={index}>
      {narrow.value ? <NarrowCells {...props} /> : <WideCells {...props} />}
    </tr>
  );
}

function WideCells(props: RowProps): JSX.Element {
  const { row, view, brief } = props;
  const [holder] = row.holders;
  return (
    <>
      <th scope="row" class="lock-name">
        <Name {...props} />
      </th>
      <td class="extra">
        {row.backend} <span class="note block">{row.cluster}</span>
      </td>
      <td class="extra">
        {kindOf(row)} <Libraries names={row.libraries} />
      </td>
      <td>
        <State {...props} />
      </td>
      <td class="holder">
        <HeldBy {...props} />
      </td>
      <td class="number waiters" title={waitersOf(row).why}>
        <Waiters {...props} />
      </td>
      <td>
        {row.waiterCount > 0 ? (
          <Age of={row.oldestWait} zone={view.zone} />
        ) : (
          <span class="note">{noWaitWord(row.waiterCount, row.waiterUnit === "hidden")}</span>
        )}
      </td>
      <td>
        {row.holderCount > 0 ? <Age of={row.oldestHold} zone={view.zone} /> : <span class="note">none</span>}
      </td>
      {!brief && (
        <>
          <td>
            {row.token === null ? (
              <span class="note">none</span>
            ) : (
              <span class="key id" title={row.token}>
                {middle(short(row.token), 22)}
              </span>
            )}
          </td>
          <td>
            {holder === undefined ? (
              <span class="note">none</span>
            ) : (
              <Lease participant={holder} lock={row} stale={isStale(row)} />
            )}
          </td>
        </>
      )}
    </>
  );
}

const columns = [
  { name: "Lock", sort: "name", narrow: true },
  { name: "Backend", extra: true },
  { name: "Kind", extra: true },
  { name: "State" },
  { name: "Held by" },
  { name: "Waiters", sort: "waiters", number: true, narrow: true },
  { name: "Longest wait", sort: "wait" },
  { name: "Held for", sort: "hold" },
  { name: "Token", full: true },
  { name: "Lease", full: true },
] as const satisfies readonly {
  name: string;
  sort?: LocksView["sort"];
  number?: boolean;
  full?: boolean;
  narrow?: boolean;
  extra?: boolean;
}[];

/** Locks, one row each. `sorting` has the present order and the link that asks for another one. */
export function LockTable(props: {
  label: string;
  rows: readonly LockRow[];
  view: View;
  gone?: ReadonlySet<string>;
  total?: number;
  from?: number;
  brief?: boolean;
  sorting?: { by: LocksView["sort"]; link: (sort: LocksView["sort"]) => string };
}): JSX.Element {
  const { label, rows, view, gone, total, from = 1, brief = false, sorting } = props;
  return (
    <Scroll label={label}>
      <table class="locks" aria-rowcount={(total ?? rows.length) + 1}>
        <caption class="hidden-text">{label}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => {
              if (brief && "full" in column) return null;
              if (narrow.value && !("narrow" in column)) return null;
              const by = "sort" in column ? column.sort : null;
              const sorted = by !== null && sorting?.by === by;
              return (
                <th
                  key={column.name}
                  scope="col"
                  class={"number" in column ? "number" : "extra" in column ? "extra" : ""}
                  aria-sort={sorted ? (by === "name" ? "ascending" : "descending") : undefined}
                >
                  {by !== null && sorting !== undefined ? (
                    <a class="sort" href={sorting.link(by)}>
                      {column.name}
                      <span aria-hidden="true">{sorted ? (by === "name" ? " ▲" : " ▼") : ""}</span>
                    </a>
                  ) : (
                    column.name
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <Row
              key={row.id}
              row={row}
              index={from + at + 1}
              view={view}
              gone={gone?.has(row.id) ?? false}
              brief={brief}
            />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
