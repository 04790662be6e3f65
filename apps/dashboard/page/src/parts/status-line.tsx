import type { JSX } from "preact";
import { clustersOf, meFailure, now, quietMs, streamState } from "../app/store.js";
import type { View } from "../app/view.js";
import { type Line, linesOf } from "../format/cluster-lines.js";
import { ago } from "../format/duration.js";
import { Icon } from "./icon.js";

/**
 * Only text that does not change all the time is in the polite live region, so that a screen reader does not speak each
 * second.
 */
export function StatusLine({ view }: { view: View }): JSX.Element {
  const lines: Line[] = (clustersOf(view.cluster) ?? []).flatMap((each) => linesOf(each, now.value));
  const failure = meFailure.value;
  const state = streamState.value;
  if (state === "reconnecting" || state === "polling") {
    lines.unshift({
      id: " stream",
      tone: "warn",
      text:
        state === "polling" ? "No live updates: asking every 10 s." : "Live updates are lost: reconnecting.",
      running: `${failure?.kind === "unreachable" ? "The dashboard does not answer. " : ""}Last heard ${ago(quietMs.value)}`,
    });
  }
  return (
    <div class="status-lines" role="status" aria-live="polite">
      {lines.map(({ id, tone, text, running }) => (
        <p key={id} class={`notice ${tone}`}>
          <Icon name={tone === "bad" ? "critical" : tone === "warn" ? "warning" : "syncing"} />
          <span>
            {text}
            {running !== "" && <span aria-live="off"> {running}.</span>}
          </span>
        </p>
      ))}
    </div>
  );
}
