import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Audit, AuditRow } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView } from "../app/view.js";
import { nothingListed } from "../format/absence.js";
import { count } from "../format/number.js";
import { middle } from "../format/participant.js";
import { plain } from "../format/words.js";
import { At } from "../parts/age.js";
import { ExportLinks } from "../parts/export-links.js";
import { Mark } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";

function Outcome({ row }: { row: AuditRow }): JSX.Element {
  if (row.dryRun) return <Mark icon="info" tone="info" text={`dry run: ${plain(row.outcome)}`} />;
  const done = row.outcome === "done" || row.outcome === "ok";
  return <Mark icon={done ? "ok" : "warning"} tone={done ? "good" : "warn"} text={plain(row.outcome)} />;
}

export function AuditPage(): JSX.Element {
  const view = useView();
  useTitle("Audit");
  const query = new URLSearchParams(view.search);
  const cursor = query.get("cursor") ?? undefined;
  const wanted = query.get("id");
  const { data, failure, loading, reload } = useResource<Audit>(
    pathWith("audit", { limit: 100, cursor }),
    cursor === undefined ? 15_000 : null,
  );
  const found = useRef<HTMLTableRowElement>(null);
  const there = data !== null;
  useEffect(() => found.current?.scrollIntoView({ block: "center" }), [there, wanted]);
  const rows = (data?.rows ?? []).filter(({ cluster }) => view.cluster === null || cluster === view.cluster);
  return (
    <>
      <div class="page-head">
        <h1>Audit</h1>
        <p class="note">
          Actions, attempts, failed sign-ins and refused changes (at most 60 a minute), newest first.
        </p>
        <ExportLinks list="audit" query={{ cluster: view.cluster ?? undefined }} />
      </div>
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && rows.length === 0 && (
        <Nothing title={nothingListed(data.next !== null, cursor !== undefined)} icon="ok">
          {wanted !== null && <p>Row {wanted} is not among them.</p>}
        </Nothing>
      )}
      {rows.length > 0 && (
        <Scroll label="Audit">
          <table>
            <caption class="hidden-text">Audit, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Who</th>
                <th scope="col">From</th>
                <th scope="col">Action</th>
                <th scope="col">Object</th>
                <th scope="col">Version before, after</th>
                <th scope="col">Reason</th>
                <th scope="col">Outcome</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr
                  key={row.id}
                  ref={row.id === wanted ? found : null}
                  class={row.id === wanted ? "wanted" : ""}
                >
                  <th scope="row">
                    <At ms={row.atMs} zone={view.zone} />
                  </th>
                  <td>
                    {row.actor} <span class="tag">{row.role}</span>
                  </td>
                  <td class="key whole">{row.address}</td>
                  <td>{plain(row.action)}</td>
                  <td>
                    <span class="key" title={row.object}>
                      {middle(row.object, 48)}
                    </span>
                    <span class="note block">
                      {row.cluster}
                      {row.entry !== null && ` · ${middle(row.entry, 40)}`}
                    </span>
                  </td>
                  <td class="key">
                    <span title={row.before ?? ""}>
                      {row.before === null ? "none" : middle(row.before, 20)}
                    </span>
                    <span class="block" title={row.after ?? ""}>
                      {row.after === null ? "none" : middle(row.after, 20)}
                    </span>
                  </td>
                  <td class="long">{row.reason}</td>
                  <td>
                    <Outcome row={row} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {data !== null && (data.next !== null || cursor !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span class="note">{count(rows.length)} rows</span>
          {cursor !== undefined && (
            <a class="button" href={view.href("audit")}>
              Newest
            </a>
          )}
          {data.next !== null && (
            <a class="button" href={view.href("audit", { cursor: data.next })}>
              Older
            </a>
          )}
        </nav>
      )}
    </>
  );
}
