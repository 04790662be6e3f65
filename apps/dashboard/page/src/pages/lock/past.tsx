import type { JSX } from "preact";
import type { LockHistory, Participant } from "../../../../src/contract/api.js";
import type { View } from "../../app/view.js";
import { span } from "../../format/duration.js";
import { count } from "../../format/number.js";
import { middle } from "../../format/participant.js";
import { At } from "../../parts/age.js";
import { Icon } from "../../parts/icon.js";
import { Scroll } from "../../parts/scroll.js";

export function Histogram({ history, view }: { history: LockHistory; view: View }): JSX.Element {
  const most = Math.max(1, ...history.holdHistogram.map(({ count: each }) => each));
  const seen = history.holdHistogram.some(({ count: each }) => each > 0);
  if (!seen) return <p class="note">No whole hold has been seen yet.</p>;
  return (
    <table class="histogram">
      <caption class="note">
        How long holds lasted, since <At ms={history.sinceMs} zone={view.zone} short />
      </caption>
      <thead class="hidden-text">
        <tr>
          <th scope="col">At most</th>
          <th scope="col">Holds</th>
        </tr>
      </thead>
      <tbody>
        {history.holdHistogram.map(({ leMs, count: each }) => (
          <tr key={String(leMs)}>
            <th scope="row" class="number">
              {leMs === null ? "longer" : `≤ ${span(leMs)}`}
            </th>
            <td>
              <span class="bar" style={{ inlineSize: `${(each / most) * 100}%` }} />
              <span class="figure">{count(each)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Token({ text }: { text: string | null }): JSX.Element {
  return text === null ? <span class="note">not known</span> : <span class="key id">{text}</span>;
}

/** `holders` are the present ones. Their tokens are needed, because a grant is reported before its token is read. */
export function Past(props: {
  history: LockHistory;
  holders: readonly Participant[];
  view: View;
}): JSX.Element {
  const { history, holders, view } = props;
  const tokens = new Map(holders.map(({ entry, token }) => [entry, token]));
  if (history.rows.length === 0) {
    return (
      <p class="note">
        No grants since <At ms={history.sinceMs} zone={view.zone} />.
      </p>
    );
  }
  return (
    <Scroll label="History">
      <table>
        <caption class="hidden-text">History, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">What</th>
            <th scope="col">Entry</th>
            <th scope="col">Token</th>
            <th scope="col">Held for</th>
          </tr>
        </thead>
        <tbody>
          {history.rows.map((each) => (
            <tr key={`${each.atMs} ${each.type} ${each.entry}`}>
              <td>
                <At ms={each.atMs} zone={view.zone} short />
              </td>
              <td>
                <span class="mark quiet">
                  <Icon name={each.type === "granted" ? "held" : "idle"} />
                  {each.type}
                </span>
              </td>
              <td>
                <span class="key id" title={each.entry}>
                  {middle(each.entry, 44)}
                </span>
              </td>
              <td>
                <Token text={each.token ?? tokens.get(each.entry) ?? null} />
              </td>
              <td>
                {each.heldMs === null ? (
                  <span class="note">{each.type === "granted" ? "" : "not seen"}</span>
                ) : (
                  span(each.heldMs)
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
