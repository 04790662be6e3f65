import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FindingRow, Findings } from "../../../src/contract/api.js";
import { mute } from "../api/client.js";
import { ApiFailure, refusalOf } from "../api/failure.js";
import { announce } from "../app/announce.js";
import { narrow } from "../app/narrow.js";
import { clustersOf, hasRole, findings as live, me, now } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { many } from "../format/number.js";
import { sorted, tally, worstFirst } from "../format/problems.js";
import { findingTitle } from "../format/words.js";
import { Ago, At } from "../parts/age.js";
import { Dialog } from "../parts/dialog.js";
import { ExportLinks } from "../parts/export-links.js";
import { FindingCards, FindingObject } from "../parts/finding-list.js";
import { Icon } from "../parts/icon.js";
import { Severity } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, NoneFound, OldNews } from "../parts/states.js";

const hour = 3_600_000;
const lengths = [
  [hour, "1 hour"],
  [8 * hour, "8 hours"],
  [24 * hour, "1 day"],
  [7 * 24 * hour, "1 week"],
  [30 * 24 * hour, "30 days"],
] as const;

function MuteDialog({
  finding,
  onClose,
  done,
}: {
  finding: FindingRow;
  onClose: () => void;
  done: () => void;
}): JSX.Element {
  const [reason, setReason] = useState("");
  const [forMs, setForMs] = useState<number>(hour);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const send = async (): Promise<void> => {
    try {
      await mute(finding.id, me.peek()?.csrfToken ?? "", { reason: reason.trim(), forMs });
      announce("Muted");
      done();
      onClose();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      setFailure(error);
    }
  };
  return (
    <Dialog title={`Mute: ${findingTitle(finding.kind)}`} onClose={onClose}>
      <p class="lead key">{finding.object ?? finding.cluster}</p>
      <p>Until the time is over it is listed as muted, and neither the badge nor the metrics count it.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label class="field">
          <span>For</span>
          <select value={forMs} onChange={(event) => setForMs(Number(event.currentTarget.value))}>
            {lengths.map(([ms, name]) => (
              <option key={ms} value={ms}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Reason, for the audit log</span>
          <textarea
            rows={2}
            maxLength={500}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        {failure !== null && (
          <p class="notice bad" role="alert">
            <Icon name="critical" />
            <span>{refusalOf(failure)}</span>
          </p>
        )}
        <footer>
          <button type="submit" class="primary" disabled={reason.trim().length < 3}>
            Mute
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Table(props: {
  label: string;
  rows: readonly FindingRow[];
  view: View;
  wanted: string | null;
  onMute: ((row: FindingRow) => void) | null;
}): JSX.Element {
  const { label, rows, view, wanted, onMute } = props;
  const muteButton = (each: FindingRow): JSX.Element | null =>
    onMute !== null && each.muted === null ? (
      <button type="button" class="small" onClick={() => onMute(each)}>
        Mute…
      </button>
    ) : null;
  if (narrow.value) return <FindingCards rows={rows} view={view} wanted={wanted} more={muteButton} />;
  return (
    <Scroll label={label}>
      <table class="findings" aria-rowcount={rows.length + 1}>
        <caption class="hidden-text">{label}</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Severity</th>
            <th scope="col">What</th>
            <th scope="col">Where</th>
            <th scope="col">Since</th>
            <th scope="col">What was seen, what to do</th>
            {onMute !== null && (
              <th scope="col">
                <span class="hidden-text">Mute</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {worstFirst(rows).map((each) => (
            <tr key={each.id} class={each.id === wanted ? "wanted" : ""}>
              <td>
                <Severity severity={each.severity} />
              </td>
              <th scope="row">{findingTitle(each.kind)}</th>
              <td>
                <FindingObject finding={each} view={view} /> <span class="note">{each.cluster}</span>
              </td>
              <td>
                <Ago atMs={each.sinceMs} />
                <span class="note block">
                  <At ms={each.sinceMs} zone={view.zone} short={now.value - each.sinceMs < 12 * hour} />
                </span>
              </td>
              <td class="long">
                {each.evidence}
                <span class="advice block">{each.advice}</span>
                {each.muted !== null && (
                  <span class="note block">
                    <Icon name="muted" /> Muted by {each.muted.by} until{" "}
                    <At ms={each.muted.untilMs} zone={view.zone} />: {each.muted.reason}
                  </span>
                )}
              </td>
              {onMute !== null && <td>{muteButton(each)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

export function FindingsPage(): JSX.Element {
  const view = useView();
  useTitle("Findings");
  const { data, failure, loading, reload } = useResource<Findings>("findings", 15_000);
  useEffect(() => {
    if (data !== null) live.value = data.rows;
  }, [data]);
  const [muting, setMuting] = useState<FindingRow | null>(null);
  const { problems, hints, muted } = sorted(live.value ?? data?.rows ?? [], view.cluster);
  const past = (data?.past ?? []).filter(({ cluster }) => view.cluster === null || cluster === view.cluster);
  const wanted = new URLSearchParams(view.search).get("id");
  const there = data !== null;
  useEffect(() => document.querySelector(".wanted")?.scrollIntoView({ block: "center" }), [there, wanted]);
  // Muting changes no lock, so it is offered even if actions are switched off.
  const onMute = hasRole("operator") ? setMuting : null;
  return (
    <>
      <div class="page-head">
        <h1>Findings</h1>
        <p class="coverage">
          <strong>{problems.length}</strong> {problems.length === 1 ? "problem" : "problems"}
          {problems.length > 0 && ` (${tally(problems)})`}, {many(hints.length, "hint")}, {muted.length} muted
        </p>
        <ExportLinks list="findings" query={{ cluster: view.cluster ?? undefined }} />
      </div>
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && problems.length === 0 && (
        <NoneFound what="problems" title="No problems found" clusters={clustersOf(view.cluster)} />
      )}
      {problems.length > 0 && (
        <Table label="Problems" rows={problems} view={view} wanted={wanted} onMute={onMute} />
      )}
      {hints.length > 0 && (
        <section>
          <h2>Hints</h2>
          <Table label="Hints" rows={hints} view={view} wanted={wanted} onMute={onMute} />
        </section>
      )}
      {muted.length > 0 && (
        <section>
          <h2>Muted</h2>
          <Table label="Muted findings" rows={muted} view={view} wanted={wanted} onMute={null} />
        </section>
      )}
      {past.length > 0 && (
        <details class="more">
          <summary>{many(past.length, "past finding")}</summary>
          <Table label="Past findings" rows={past} view={view} wanted={null} onMute={null} />
        </details>
      )}
      {muting !== null && <MuteDialog finding={muting} onClose={() => setMuting(null)} done={reload} />}
    </>
  );
}
