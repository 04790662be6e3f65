import type { JSX } from "preact";
import type { Participant } from "../../../src/contract/api.js";
import type { View } from "../app/view.js";
import { nameOf } from "../format/participant.js";
import { libraryOf } from "../format/words.js";

/**
 * A holder or waiter by the best name that is known, however little that is. It links to its session if `view` is
 * given.
 */
export function Who(props: { participant: Participant; cluster: string; view?: View }): JSX.Element {
  const { participant, cluster, view } = props;
  const { main, more } = nameOf(participant);
  const { session, identity, address, data } = participant;
  const look = identity === null && address === null ? "key id" : "name";
  return (
    <span class="who" title={[main, ...more].join(" · ")}>
      {view !== undefined && session !== null ? (
        <a class={look} href={view.href(`sessions/${encodeURIComponent(session)}`, { of: cluster })}>
          {main}
        </a>
      ) : (
        <span class={look}>{main}</span>
      )}
      {more.length > 0 && <span class="note"> {more.join(" · ")}</span>}
      {identity === null && address === null && data === null && <span class="note"> id only</span>}
    </span>
  );
}

export const Libraries = ({ names }: { names: readonly string[] }): JSX.Element => (
  <span class="note libraries">{names.map(libraryOf).join(", ")}</span>
);
