import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Audit, AuditRow } from "../../../src/contract/api.js";
import { get, pathWith } from "../api/client.js";
import { ApiFailure } from "../api/failure.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView } from "../app/view.js";
import { nothingListed } from "../format/absence.js";
import { count } from "../format/number.js";
import { middle } from "../format/participant.js";
import { plain } from "../format/words.js";
import { At } from "../parts/age.js";
import { ExportLinks } from "../parts/export-links.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";

const most = 10_000;

/** All rows, a JSON line each, at most 10,000. @throws {ApiFailure} */
async function everyRow(): Promise<string> {
  const lines: string[] = [];
  let cursor: string | undefined;
  do {
    const page: Audit = await get<Audit>(pathWith("audit", { limit: 500, cursor }));
    for (const row of page.rows) lines.push(JSON.stringify(row));
    cursor = page.next ?? undefined;
    if (page.rows.length === 0) break;
  } while (cursor !== undefined && lines.length < most);
  return `${lines.join("\n")}\n`;
}

function save(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  link.download = `holdfast-audit-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

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
  const [exporting, setExporting] = useState<"no" | "yes" | ApiFailure>("no");
  const found = useRef<HTMLTableRowElement>(null);
  const there = data !== null;
  useEffect(() => found.current?.scrollIntoView({ block: "center" }), [there, wanted]);
  const rows = (data?.rows ?? []).filter(({ cluster }) => view.cluster === null || cluster === view.cluster);
  const download = async (): Promise<void> => {
    setExporting("yes");
    try {
      save(await everyRow());
      setExporting("no");
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      setExporting(error);
    }
  };
  return (
    <>
      <div class="page-head">
        <h1>Audit</h1>
        <p class="note">
          Actions, attempts, failed sign-ins and refused changes (at most 60 a minute), newest first.
        </p>
        <ExportLinks list="audit" query={{ cluster: view.cluster ?? undefined }} />
        <span class="actions">
          <button type="button" class="small" disabled={exporting === "yes"} onClick={() => void download()}>
            {exporting === "yes" ? "Collecting…" : "Save as JSON lines"}
          </button>
        </span>
      </div>
      {exporting instanceof ApiFailure && (
        <p class="notice bad" role="alert">
          <Icon name="critical" />
          <span>Not saved: {exporting.message}</span>
        </p>
      )}
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
