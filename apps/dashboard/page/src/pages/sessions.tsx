import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { SessionRow, Sessions } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { narrow } from "../app/narrow.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { count, many } from "../format/number.js";
import { short } from "../format/participant.js";
import { Age } from "../parts/age.js";
import { ExportLinks } from "../parts/export-links.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";

const most = 300;

export const sessionTones = {
  connected: { icon: "ok", tone: "good" },
  suspended: { icon: "warning", tone: "warn" },
  unknown: { icon: "idle", tone: "quiet" },
} as const;

function matches(row: SessionRow, q: string): boolean {
  const { id, address, server, identity } = row;
  return [id, address, server, identity?.label, identity?.host].some(
    (each) => each?.toLowerCase().includes(q) ?? false,
  );
}

function Row({ row, view }: { row: SessionRow; view: View }): JSX.Element {
  const { id, cluster, backend, identity, address } = row;
  const link = (
    <a
      data-row
      class="key id"
      href={view.href(`sessions/${encodeURIComponent(id)}`, { of: cluster })}
      title={id}
    >
      {short(id)}
    </a>
  );
  if (narrow.value) {
    return (
      <tr>
        <th scope="row">
          {link}
          <span class="second-line">
            <Mark {...sessionTones[row.state]} text={row.state} />
            <span>{identity?.label ?? identity?.host ?? address ?? "no name"}</span>
          </span>
        </th>
        <td class="number">{count(row.holdCount)}</td>
        <td class="number">{count(row.waitCount)}</td>
      </tr>
    );
  }
  return (
    <tr>
      <th scope="row">{link}</th>
      <td>
        {identity?.label ?? (identity?.pid == null && <span class="note">no name</span>)}
        {identity?.pid != null && <span class="note"> pid {identity.pid}</span>}
      </td>
      <td class="whole">{address ?? identity?.host ?? <span class="note">unknown</span>}</td>
      <td>
        {cluster} <span class="note">{row.server ?? backend}</span>
      </td>
      <td>
        <Mark {...sessionTones[row.state]} text={row.state} />
      </td>
      <td class="number">
        {row.timeoutMs === null ? <span class="note">unknown</span> : span(row.timeoutMs)}
      </td>
      <td>
        <Age of={row.established} zone={view.zone} />
      </td>
      <td>
        <Age of={row.lastSeen} zone={view.zone} />
      </td>
      <td class="number">{count(row.holdCount)}</td>
      <td class="number">{count(row.waitCount)}</td>
    </tr>
  );
}

export function SessionsPage(): JSX.Element {
  const view = useView();
  useTitle("Sessions");
  const { data, failure, loading, reload } = useResource<Sessions>(
    pathWith("sessions", { cluster: view.cluster ?? undefined }),
    10_000,
  );
  const q = new URLSearchParams(view.search).get("q") ?? "";
  const rows = useMemo(
    () =>
      (data?.rows ?? [])
        .filter((each) => q === "" || matches(each, q.toLowerCase()))
        .sort((a, b) => b.holdCount + b.waitCount - (a.holdCount + a.waitCount) || (a.id < b.id ? -1 : 1)),
    [data, q],
  );
  return (
    <>
      <div class="page-head">
        <h1>Sessions</h1>
        {data !== null && (
          <p class="coverage">
            <strong>{count(rows.length)}</strong> of {many(data.rows.length, "session")}
          </p>
        )}
        <ExportLinks list="sessions" query={{ cluster: view.cluster ?? undefined, q: q || undefined }} />
      </div>
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <label class="choice grow">
          <span>Session</span>
          <input
            id="filter-q"
            type="search"
            value={q}
            placeholder="id, name, address or server"
            autocomplete="off"
            onInput={(event) =>
              view.go(
                "sessions",
                event.currentTarget.value === "" ? {} : { q: event.currentTarget.value },
                true,
              )
            }
          />
        </label>
      </form>
      {data?.messages.map((each) => (
        <p key={each} class="notice info">
          <Icon name="info" />
          <span>{each}</span>
        </p>
      ))}
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && rows.length === 0 && (
        <Nothing
          title={data.rows.length > 0 ? "The filters hide all" : "No sessions are known"}
          icon={data.rows.length > 0 ? "search" : "idle"}
        >
          {data.rows.length > 0 ? (
            <a class="button" href={view.href("sessions")}>
              Clear the filters
            </a>
          ) : (
            <p>No client is connected, or the servers do not report their clients.</p>
          )}
        </Nothing>
      )}
      {rows.length > 0 && (
        <Scroll label="Sessions">
          <table aria-rowcount={rows.length + 1}>
            <caption class="hidden-text">Sessions, those with most locks first</caption>
            <thead>
              <tr aria-rowindex={1}>
                <th scope="col">Session</th>
                {!narrow.value && (
                  <>
                    <th scope="col">Name</th>
                    <th scope="col">Address</th>
                    <th scope="col">Cluster, server</th>
                    <th scope="col">State</th>
                    <th scope="col" class="number">
                      Time-out
                    </th>
                    <th scope="col">Established</th>
                    <th scope="col">Last seen</th>
                  </>
                )}
                <th scope="col" class="number">
                  Holds
                </th>
                <th scope="col" class="number">
                  Waits
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, most).map((each) => (
                <Row key={`${each.cluster} ${each.id}`} row={each} view={view} />
              ))}
            </tbody>
          </table>
          {rows.length > most && (
            <p class="note">
              The first {count(most)} of {count(rows.length)}: filter to see others.
            </p>
          )}
        </Scroll>
      )}
    </>
  );
}
