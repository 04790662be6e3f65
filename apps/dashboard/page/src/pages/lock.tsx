import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { LockDetail, LockHistory, LockRow, Participant } from "../../../src/contract/api.js";
import { ActionDialog, type Chosen } from "../actions/action-dialog.js";
import { actionNames, asAction } from "../actions/words.js";
import { announce } from "../app/announce.js";
import { listen, may, now, stream } from "../app/store.js";
import { throttle } from "../app/throttle.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { count, many } from "../format/number.js";
import { middle, nameOf } from "../format/participant.js";
import { kindOf, libraryOf, waitersOf } from "../format/words.js";
import { Age, At } from "../parts/age.js";
import { Copy } from "../parts/copy.js";
import { FindingCards } from "../parts/finding-list.js";
import { Icon } from "../parts/icon.js";
import { isStale } from "../parts/lock-table.js";
import { Lease, LockState } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";
import { Libraries, Who } from "../parts/who.js";

type Offered = LockDetail["actions"][number];

const oldestForActionsMs = 10_000;
const fewWaiters = 15;

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Act({
  offered,
  off,
  choose,
}: {
  offered: Offered;
  off: string | null;
  choose: (chosen: Chosen) => void;
}): JSX.Element | null {
  const action = asAction(offered.action);
  if (action === null || !may(offered.role)) return null;
  const { button, harmless } = actionNames[action];
  return (
    <button
      type="button"
      class={harmless ? "small" : "small danger-quiet"}
      disabled={off !== null}
      title={off ?? undefined}
      onClick={() => choose({ action, entry: offered.entry })}
    >
      {button}
    </button>
  );
}

function Holder(props: {
  holder: Participant;
  lock: LockRow;
  view: View;
  actions: ComponentChildren;
}): JSX.Element {
  const { holder, lock, view, actions } = props;
  return (
    <li class="holder-card">
      <p class="holder-name">
        <Who participant={holder} cluster={lock.cluster} view={view} />
        <span class="actions">{actions}</span>
      </p>
      <dl class="facts">
        <Fact name="Held for">
          <Age of={holder.since} zone={view.zone} />
        </Fact>
        <Fact name="Token">
          {holder.token === null ? <span class="note">none</span> : <span class="key">{holder.token}</span>}
        </Fact>
        <Fact name="Lease">
          <Lease participant={holder} />
        </Fact>
        {holder.mode === "shared" && <Fact name="Mode">shared (read)</Fact>}
        {holder.permits !== 1 && <Fact name="Permits">{count(holder.permits)}</Fact>}
        {holder.holdCount !== null && <Fact name="Entered">{many(holder.holdCount, "time")}</Fact>}
        <Fact name="Library">{libraryOf(holder.library)}</Fact>
        {holder.session !== null && (
          <Fact name="Session">
            <a
              class="key"
              href={view.href(`sessions/${encodeURIComponent(holder.session)}`, { of: lock.cluster })}
            >
              {holder.session}
            </a>
          </Fact>
        )}
        <Fact name="Entry">
          <span class="key">{holder.entry}</span>
        </Fact>
        {holder.data !== null && (
          <Fact name="Data">
            <span class="key">{holder.data}</span>
          </Fact>
        )}
      </dl>
    </li>
  );
}

function Queue(props: {
  detail: LockDetail;
  view: View;
  actionsOf: (entry: string) => ComponentChildren;
}): JSX.Element {
  const { detail, view, actionsOf } = props;
  const { lock, waiters } = detail;
  const [all, setAll] = useState(false);
  const shown = all ? waiters : waiters.slice(0, fewWaiters);
  if (waiters.length === 0) {
    const text =
      lock.waiterUnit === "hidden"
        ? "Nobody can be seen waiting on this kind of lock from outside."
        : lock.waiterUnit === "connections" && lock.waiterCount > 0
          ? `${waitersOf(lock).why} Who they are, and in which order, is not in the backend.`
          : "Nobody waits.";
    return <p class="note">{text}</p>;
  }
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
              <td>
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
                <span class="key" title={each.entry}>
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

function Histogram({ history, view }: { history: LockHistory; view: View }): JSX.Element {
  const most = Math.max(1, ...history.holdHistogram.map(({ count: each }) => each));
  const seen = history.holdHistogram.some(({ count: each }) => each > 0);
  if (!seen) return <p class="note">No hold has been seen from its grant to its end yet.</p>;
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

function Past({ history, view }: { history: LockHistory; view: View }): JSX.Element {
  if (history.rows.length === 0) {
    return (
      <p class="note">
        Nothing has been seen since <At ms={history.sinceMs} zone={view.zone} />.
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
                <span class="key" title={each.entry}>
                  {middle(each.entry, 44)}
                </span>
              </td>
              <td>
                {each.token === null ? <span class="note">none</span> : <span class="key">{each.token}</span>}
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

/** Says aloud when the lock has passed to somebody else. */
function useHandOffAnnounced(lock: LockRow | undefined): void {
  const before = useRef<LockRow | undefined>(undefined);
  useEffect(() => {
    const earlier = before.current;
    before.current = lock;
    if (
      lock === undefined ||
      earlier === undefined ||
      earlier.id !== lock.id ||
      earlier.version === lock.version
    )
      return;
    const [holder] = lock.holders;
    announce(holder === undefined ? "The lock is free" : `Now held by ${nameOf(holder).main}`);
  }, [lock]);
}

export function LockPage(): JSX.Element {
  const id = useRoute().params.id ?? "";
  const view = useView();
  const path = `locks/${encodeURIComponent(id)}`;
  const { data, failure, loading, reload } = useResource<LockDetail>(path, 3000);
  const history = useResource<LockHistory>(`${path}/history`, 5000);
  const [chosen, setChosen] = useState<(Chosen & { shown: LockRow }) | null>(null);
  useTitle(data?.lock.key ?? "Lock");
  useHandOffAnnounced(data?.lock);

  const latest = useRef(() => {});
  latest.current = () => {
    reload();
    history.reload();
  };
  useEffect(() => {
    const who = {};
    stream.want(who, { rows: [id], overview: false, findings: false });
    const soon = throttle(500, () => latest.current());
    const end = listen({
      locks: (rows) => rows.some((row) => row.id === id) && soon(),
      gone: (ids) => ids.includes(id) && soon(),
    });
    return () => {
      end();
      soon.end();
      stream.want(who, null);
    };
  }, [id]);

  if (data === null) {
    if (loading || failure === null) {
      return (
        <>
          <h1 class="hidden-text">Lock</h1>
          <Loading />
        </>
      );
    }
    return failure.kind === "missing" ? (
      <Nothing title="No such lock" whole>
        <p>
          Nothing is there now. Locks on ZooKeeper and Redis exist only while somebody holds, waits, or left
          something behind.
        </p>
        <p>
          <button type="button" onClick={reload}>
            Look again
          </button>{" "}
          <a class="button" href={view.href("locks")}>
            All locks
          </a>
        </p>
      </Nothing>
    ) : (
      <Failed failure={failure} retry={reload} whole />
    );
  }

  const { lock, actions } = data;
  const old = now.value - lock.readMs;
  const stale = isStale(lock) || old > oldestForActionsMs || failure !== null;
  const off = stale
    ? `What is shown was read ${span(old)} ago: actions need something fresher than 10 s.`
    : null;
  const choose = (wish: Chosen, shown: LockRow = lock): void => setChosen({ ...wish, shown });
  const button = (offered: Offered): JSX.Element => (
    <Act key={`${offered.action} ${offered.entry ?? ""}`} offered={offered} off={off} choose={choose} />
  );
  const holding = new Set(lock.holders.map(({ entry }) => entry));
  const queued = new Set(data.waiters.map(({ entry }) => entry));
  const general = actions.filter(
    ({ entry }) => entry === null || (!holding.has(entry) && !queued.has(entry)),
  );
  const of = (entry: string): JSX.Element[] => actions.filter((each) => each.entry === entry).map(button);
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={view.href("locks")}>Locks</a>
        <Icon name="next" />
        <span>{lock.backend}</span>
        <Icon name="next" />
        <span>{lock.cluster}</span>
      </nav>
      <div class="page-head">
        <h1 class="key">{lock.key}</h1>
        <LockState state={lock.state} />
        <span>{kindOf(lock)}</span>
        <Libraries names={lock.libraries} />
        <span class="actions">
          <Copy text={lock.key} what={lock.backend === "zookeeper" ? "path" : "key"} />
          <Copy text={location.href} what="link" />
          {general.map(button)}
        </span>
      </div>
      {failure !== null &&
        (failure.kind === "missing" ? (
          <p class="notice warn" role="status">
            <Icon name="warning" />
            <span>
              It is gone: nobody holds it and nobody waits. What stands below is the last that was seen.
            </span>
          </p>
        ) : (
          <OldNews failure={failure} />
        ))}
      {off !== null && actions.length > 0 && (
        <p class="notice warn">
          <Icon name="stale" />
          <span>{off}</span>
        </p>
      )}
      {lock.denied !== null && (
        <p class="notice bad">
          <Icon name="denied" />
          <span>Not everything can be read: {lock.denied}</span>
        </p>
      )}
      {data.findings.length > 0 && <FindingCards rows={data.findings} view={view} />}
      <div class={stale ? "stale" : ""}>
        <section>
          <h2>
            {lock.holderCount > 1
              ? `Holders (${count(lock.holderCount)}${lock.limit === null ? "" : ` of ${count(lock.limit)}`})`
              : "Holder"}
          </h2>
          {lock.holders.length === 0 ? (
            <p class="note">{lock.denied === null ? "Nobody holds it." : "Who holds it cannot be read."}</p>
          ) : (
            <ul class="holders">
              {lock.holders.map((each) => (
                <Holder key={each.entry} holder={each} lock={lock} view={view} actions={of(each.entry)} />
              ))}
            </ul>
          )}
          {lock.holderCount > lock.holders.length && (
            <p class="note">
              The first {lock.holders.length} of {count(lock.holderCount)}.
            </p>
          )}
        </section>
        <section>
          <h2>Queue ({waitersOf(lock).text})</h2>
          <Queue detail={data} view={view} actionsOf={of} />
        </section>
      </div>
      <div class="two wide-left">
        <section>
          <h2>History</h2>
          {history.data === null ? (
            history.failure === null ? (
              <Loading rows={3} />
            ) : (
              <OldNews failure={history.failure} />
            )
          ) : (
            <Past history={history.data} view={view} />
          )}
        </section>
        <section>
          <h2>Hold times</h2>
          {history.data !== null && <Histogram history={history.data} view={view} />}
        </section>
      </div>
      <details class="more">
        <summary>Raw: what the backend says</summary>
        <dl class="raw">
          {data.raw.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="key">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      <details class="more">
        <summary>Explain: how each value was obtained</summary>
        <ul>
          {data.explain.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        <p class="note">
          Read <At ms={lock.readMs} zone={view.zone} />, version <span class="key">{lock.version}</span>
        </p>
      </details>
      {chosen !== null && (
        <ActionDialog
          shown={chosen.shown}
          chosen={chosen}
          view={view}
          onChoose={choose}
          onClose={() => setChosen(null)}
        />
      )}
    </>
  );
}
