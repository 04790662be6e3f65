import type { JSX } from "preact";
import type { ClusterRow, FindingRow } from "../../../src/contract/api.js";
import { may } from "../app/store.js";
import type { View } from "../app/view.js";
import { notKnownNow } from "../format/absence.js";
import { many } from "../format/number.js";
import { sorted, stepsFor, tally } from "../format/problems.js";
import { findingTitle } from "../format/words.js";
import { Ago } from "./age.js";
import { FindingObject } from "./finding-list.js";
import { Icon } from "./icon.js";
import { Severity } from "./marks.js";

/** All critical findings are shown, and as many warnings as fit into so many lines with them. */
const mostLines = 8;

function Problem({ finding, view }: { finding: FindingRow; view: View }): JSX.Element {
  const { kind, severity, evidence, cluster, sinceMs } = finding;
  return (
    <li class={severity}>
      <Severity severity={severity} />
      <div class="problem-text">
        <p>
          <strong>{findingTitle(kind)}</strong> <FindingObject finding={finding} view={view} />{" "}
          <span class="note">
            {cluster}, for <Ago atMs={sinceMs} />
          </span>
        </p>
        <p>{evidence}</p>
      </div>
      <p class="steps">
        {stepsFor(finding, may("operator")).map(({ text, path, query }) => (
          <a key={text} class="button small" href={view.href(path, query)}>
            {text}
          </a>
        ))}
      </p>
    </li>
  );
}

/** What is wrong now, the most severe first, each with its two next steps. One line if nothing is wrong. */
export function Problems(props: {
  rows: readonly FindingRow[];
  clusters: readonly ClusterRow[];
  view: View;
}): JSX.Element {
  const { rows, clusters, view } = props;
  const { problems, hints } = sorted(rows, view.cluster);
  const unknown = notKnownNow(clusters);
  const critical = problems.filter(({ severity }) => severity === "critical").length;
  const shown = problems.slice(0, Math.max(mostLines, critical));
  const left = [
    ...(problems.length > shown.length ? [`${problems.length - shown.length} more`] : []),
    ...(hints.length > 0 ? [many(hints.length, "hint")] : []),
  ];
  return (
    <section class="problems">
      {problems.length === 0 ? (
        <p class="all-well">
          <Icon name={unknown.length > 0 ? "stale" : "ok"} />
          {unknown.length > 0 ? (
            <span>No problem is known, but {unknown.join(", ")}.</span>
          ) : (
            <span>No problems found.</span>
          )}{" "}
          {hints.length > 0 && <a href={view.href("findings")}>{many(hints.length, "hint")}</a>}
        </p>
      ) : (
        <>
          <h2>
            <a href={view.href("findings")}>Problems</a> <span class="note">{tally(problems)}</span>
          </h2>
          <ul class="problem-list">
            {shown.map((each) => (
              <Problem key={each.id} finding={each} view={view} />
            ))}
          </ul>
          {left.length > 0 && (
            <p class="note">
              <a href={view.href("findings")}>{left.join(" and ")} on the page Findings</a>
            </p>
          )}
        </>
      )}
    </section>
  );
}
