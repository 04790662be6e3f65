import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { LockDetail, LockHistory, LockRow } from "../../../src/contract/api.js";
import { ActionDialog, type Chosen } from "../actions/action-dialog.js";
import { type ActionName, actionNames, asAction, offersEnd } from "../actions/words.js";
import type { ApiFailure } from "../api/failure.js";
import { may, me, now } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { kindOf, waitersOf } from "../format/words.js";
import { At } from "../parts/age.js";
import { Copy } from "../parts/copy.js";
import { FindingCards } from "../parts/finding-list.js";
import { Icon } from "../parts/icon.js";
import { later } from "../parts/later.js";
import { isStale } from "../parts/lock-table.js";
import { LockState } from "../parts/marks.js";
import { lockValues, OutsideLinks } from "../parts/outside-links.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";
import { Libraries } from "../parts/who.js";
import { Act, type Offered } from "./lock/act.js";
import { Holders } from "./lock/holder.js";
import { useHandOffAnnounced, useLockChanges } from "./lock/live.js";
import { Histogram, Past } from "./lock/past.js";
import { Queue } from "./lock/queue.js";

// Only dashboards that keep a history need this script.
const Story = later(async () => (await import("./lock/story.js")).Story);

const oldestForActionsMs = 10_000;
/** The stream reports changes. This poll is for what the stream may have missed. */
const polledMs = 3_000;
/** If one permit replaces another, the row does not change: only the ids differ, and only this page reads them. */
const permitsPolledMs = 500;

function NoSuchLock({ reload, view }: { reload: () => void; view: View }): JSX.Element {
  return (
    <Nothing title="No such lock" whole>
      <p>
        Nothing is there now. A lock on ZooKeeper or Redis exists only while a client holds it or waits for
        it, or has left something behind.
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
  );
}

/** `children`: the buttons of the actions that concern no participant. */
function Head(props: { lock: LockRow; view: View; children: ComponentChildren }): JSX.Element {
  const { lock, view, children } = props;
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
        <OutsideLinks on="lock" values={lockValues(lock)} />
        <span class="actions">
          <Copy text={lock.key} what={lock.backend === "zookeeper" ? "path" : "key"} />
          <Copy text={location.href} what="link" />
          {children}
        </span>
      </div>
    </>
  );
}

/**
 * What a reader has to know before the rest. `off` says why no action is possible. `refused` is the action that a link
 * asks for and that is not offered.
 */
function Notices(props: {
  lock: LockRow;
  failure: ApiFailure | null;
  off: string | null;
  refused: ActionName | null;
}): JSX.Element {
  const { lock, failure, off, refused } = props;
  return (
    <>
      {failure !== null &&
        (failure.kind === "missing" ? (
          <p class="notice warn" role="status">
            <Icon name="warning" />
            <span>The lock is gone: no holder, no waiters. Below is what was seen last.</span>
          </p>
        ) : (
          <OldNews failure={failure} />
        ))}
      {off !== null && (
        <p class="notice warn">
          <Icon name="stale" />
          <span>{off}</span>
        </p>
      )}
      {refused !== null && (
        <p class="notice info" role="status">
          <Icon name="info" />
          <span>
            {actionNames[refused].title}: not possible here now. The holder's library may have no such
            request, or your role does not allow it.
          </span>
        </p>
      )}
      {lock.denied !== null && (
        <p class="notice bad">
          <Icon name="denied" />
          <span>Not everything can be read: {lock.denied}</span>
        </p>
      )}
    </>
  );
}

/** The data of the backend, and how the values above were obtained from it. */
function Background({ detail, view }: { detail: LockDetail; view: View }): JSX.Element {
  const { lock, raw, explain } = detail;
  return (
    <>
      <details class="more">
        <summary>Raw: what the backend has</summary>
        <dl class="raw">
          {raw.map(({ name, value }) => (
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
          {explain.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        <p class="note">
          Read <At ms={lock.readMs} zone={view.zone} />, version <span class="key">{lock.version}</span>
        </p>
      </details>
    </>
  );
}

export function LockPage(): JSX.Element {
  const id = useRoute().params.id ?? "";
  const view = useView();
  const path = `locks/${encodeURIComponent(id)}`;
  const [everyMs, setEveryMs] = useState(polledMs);
  const { data, failure, loading, reload } = useResource<LockDetail>(path, everyMs);
  const history = useResource<LockHistory>(`${path}/history`, 5000);
  const [chosen, setChosen] = useState<(Chosen & { shown: LockRow }) | null>(null);
  useTitle(data?.lock.key ?? "Lock");
  const wishedMs = data?.lock.kind === "permit-semaphore" ? permitsPolledMs : polledMs;
  useEffect(() => setEveryMs(wishedMs), [wishedMs]);
  useHandOffAnnounced(data);
  const wished = asAction(new URLSearchParams(view.search).get("act") ?? "");
  const offered = data?.actions.find(({ action, role }) => action === wished && may(role));
  useEffect(() => {
    // A link of a finding asks for an action. Its dialog opens once the lock is read, if this action is offered to this
    // user.
    if (wished === null || data === null || offered === undefined) return;
    setChosen({ action: wished, entry: offered.entry, shown: data.lock });
    view.go(path, {}, true);
  }, [offered !== undefined]);
  useLockChanges(id, () => {
    reload();
    history.reload();
  });

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
      <>
        <NoSuchLock reload={reload} view={view} />
        {me.value?.history === true && <Story />}
      </>
    ) : (
      <Failed failure={failure} retry={reload} whole />
    );
  }

  const { lock, actions } = data;
  const old = now.value - lock.readMs;
  const stale = isStale(lock) || old > oldestForActionsMs || failure !== null;
  const off = stale
    ? `Read ${span(old)} ago. Actions are off until it can be read again: they need a reading of the last 10 s.`
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
  const leftOut = offersEnd(data);
  return (
    <>
      <Head lock={lock} view={view}>
        {general.map(button)}
      </Head>
      <Notices
        lock={lock}
        failure={failure}
        off={actions.length > 0 ? off : null}
        refused={offered === undefined && me.value !== null ? wished : null}
      />
      {data.findings.length > 0 && <FindingCards rows={data.findings} view={view} />}
      <div class={stale ? "stale" : ""}>
        <Holders detail={data} stale={stale} view={view} actionsOf={of} />
        <section>
          <h2>Queue ({waitersOf(lock).text})</h2>
          <Queue detail={data} view={view} actionsOf={of} />
          {leftOut !== null && <p class="note">{leftOut}</p>}
        </section>
      </div>
      {me.value?.history === true && <Story />}
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
            <Past history={history.data} holders={lock.holders} view={view} />
          )}
        </section>
        <section>
          <h2>Hold times</h2>
          {history.data !== null && <Histogram history={history.data} view={view} />}
        </section>
      </div>
      <Background detail={data} view={view} />
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
