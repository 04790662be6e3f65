import type { ComponentChildren, JSX } from "preact";
import type { FindingRow } from "../../../src/contract/api.js";
import { clusters } from "../app/store.js";
import type { View } from "../app/view.js";
import { middle } from "../format/participant.js";
import { worstFirst } from "../format/problems.js";
import { findingTitle } from "../format/words.js";
import { Ago, At } from "./age.js";
import { Severity } from "./marks.js";
import { lockValues, OutsideLinks } from "./outside-links.js";

export function FindingObject({ finding, view }: { finding: FindingRow; view: View }): JSX.Element | null {
  const { object, lockId } = finding;
  if (object === null) return null;
  const text = <span class="key">{middle(object, 72)}</span>;
  if (lockId === null) return text;
  const backend = clusters.value?.find(({ name }) => name === finding.cluster)?.backend ?? "";
  return (
    <>
      <a data-row href={view.href(`locks/${lockId}`)} title={object}>
        {text}
      </a>{" "}
      <OutsideLinks
        on="lock"
        values={lockValues({ cluster: finding.cluster, backend, key: object, kind: null })}
      />
    </>
  );
}

/** Findings as short cards: what, since when, the evidence, what to do. `more` gives what stands below each. */
export function FindingCards(props: {
  rows: readonly FindingRow[];
  view: View;
  wanted?: string | null;
  more?: (row: FindingRow) => ComponentChildren;
}): JSX.Element {
  const { rows, view, wanted, more } = props;
  return (
    <ul class="cards">
      {worstFirst(rows).map((each) => (
        <li key={each.id} class={`card ${each.severity}${each.id === wanted ? " wanted" : ""}`}>
          <p class="card-head">
            <Severity severity={each.severity} />
            <strong>{findingTitle(each.kind)}</strong>
            <span class="note">
              {each.cluster}, for <Ago atMs={each.sinceMs} />
            </span>
          </p>
          <p>
            <FindingObject finding={each} view={view} />
          </p>
          <p>{each.evidence}</p>
          <p class="advice">{each.advice}</p>
          {each.muted !== null && (
            <p class="note">
              Muted by {each.muted.by} until <At ms={each.muted.untilMs} zone={view.zone} />:{" "}
              {each.muted.reason}
            </p>
          )}
          {more?.(each)}
        </li>
      ))}
    </ul>
  );
}
