import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { LockDetail } from "../../../../src/contract/api.js";
import { now } from "../../app/store.js";
import type { View } from "../../app/view.js";
import { whyNoWaiters } from "../../format/absence.js";
import { span } from "../../format/duration.js";
import { count } from "../../format/number.js";
import { middle } from "../../format/participant.js";
import { libraryOf } from "../../format/words.js";
import { Age } from "../../parts/age.js";
import { Scroll } from "../../parts/scroll.js";
import { Who } from "../../parts/who.js";

const fewWaiters = 15;

export function Queue(props: {
  detail: LockDetail;
  view: View;
  actionsOf: (entry: string) => ComponentChildren;
}): JSX.Element {
  const { detail, view, actionsOf } = props;
  const { lock, waiters } = detail;
  const [all, setAll] = useState(false);
  const shown = all ? waiters : waiters.slice(0, fewWaiters);
  if (waiters.length === 0) return <p class="note">{whyNoWaiters(detail)}</p>;
  return (
    <Scroll label="Queue">
      <table aria-rowcount={lock.waiterCount + 1}>
        <caption class="hidden-text">Queue, next first</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" class="number">
              #
            </th>
            <th scope="col">Who</th>
            <th scope="col">Waiting</th>
            <th scope="col">Mode</th>
            <th scope="col">Gives up</th>
            <th scope="col">Library</th>
            <th scope="col">Entry</th>
            <th scope="col">
              <span class="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((each, at) => (
            <tr key={each.entry} aria-rowindex={at + 2}>
              <td class="number">
                {each.position === null ? <span class="note">no order</span> : count(each.position + 1)}
              </td>
              <th scope="row">
                <Who participant={each} cluster={lock.cluster} view={view} />
              </th>
              <td>
                <Age of={each.since} zone={view.zone} />
              </td>
              <td class="mode">
                {each.mode}
                {each.permits !== 1 && ` × ${count(each.permits)}`}
              </td>
              <td>
                {each.deadlineMs === null ? (
                  <span class="note">unknown</span>
                ) : (
                  `in ${span(each.deadlineMs - now.value)}`
                )}
              </td>
              <td>{libraryOf(each.library)}</td>
              <td>
                <span class="key id" title={each.entry}>
                  {middle(each.entry, 34)}
                </span>
              </td>
              <td>{actionsOf(each.entry)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {waiters.length > fewWaiters && (
        <p class="note">
          <button type="button" class="small" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? `Show the first ${fewWaiters}` : `Show all ${count(waiters.length)}`}
          </button>
        </p>
      )}
      {lock.waiterCount > waiters.length && lock.waiterUnit === "participants" && (
        <p class="note">
          The first {count(waiters.length)} of {count(lock.waiterCount)}.
        </p>
      )}
    </Scroll>
  );
}
