import type { JSX } from "preact";
import { useRoute } from "preact-iso";
import type { SessionDetail, SessionRow } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { count, many } from "../format/number.js";
import { short } from "../format/participant.js";
import { Age } from "../parts/age.js";
import { Copy } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/marks.js";
import { OutsideLinks, sessionValues } from "../parts/outside-links.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";
import { sessionTones } from "./sessions.js";

function Locks({
  title,
  none,
  locks,
  all,
  view,
}: {
  title: string;
  none: string;
  /** The first locks of `all`. */
  locks: SessionRow["holds"];
  all: number;
  view: View;
}): JSX.Element {
  return (
    <section>
      <h2>
        {title} ({count(all)})
      </h2>
      {locks.length === 0 ? (
        <p class="note">{none}</p>
      ) : (
        <ul class="plain-list">
          {locks.map(({ key, lockId }) => (
            <li key={lockId}>
              <a data-row class="key" href={view.href(`locks/${lockId}`)}>
                {key}
              </a>
            </li>
          ))}
        </ul>
      )}
      {all > locks.length && <p class="note">and {count(all - locks.length)} more</p>}
    </section>
  );
}

export function SessionPage(): JSX.Element {
  const id = useRoute().params.id ?? "";
  const view = useView();
  const of = new URLSearchParams(view.search).get("of") ?? undefined;
  const { data, failure, loading, reload } = useResource<SessionDetail>(
    pathWith(`sessions/${encodeURIComponent(id)}`, { cluster: of }),
    5000,
  );
  useTitle(`Session ${short(id)}`);
  if (data === null) {
    if (loading || failure === null) {
      return (
        <>
          <h1 class="hidden-text">Session</h1>
          <Loading />
        </>
      );
    }
    return failure.kind === "missing" ? (
      <Nothing title="No such session" whole>
        <p>It has ended, or the servers do not report it.</p>
        <p>
          <a class="button" href={view.href("sessions")}>
            All sessions
          </a>
        </p>
      </Nothing>
    ) : (
      <Failed failure={failure} retry={reload} whole />
    );
  }
  const { session, released, movedUp, messages } = data;
  const { identity } = session;
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={view.href("sessions")}>Sessions</a>
        <Icon name="next" />
        <span>{session.cluster}</span>
      </nav>
      <div class="page-head">
        <h1 class="key id">{session.id}</h1>
        <Mark {...sessionTones[session.state]} text={session.state} />
        <OutsideLinks on="session" values={sessionValues(session)} />
        <span class="actions">
          <Copy text={session.id} what="id" />
        </span>
      </div>
      {failure !== null && <OldNews failure={failure} />}
      <dl class="facts boxed">
        <div>
          <dt>Name</dt>
          <dd>{identity?.label ?? <span class="note">none given</span>}</dd>
        </div>
        <div>
          <dt>Host, pid</dt>
          <dd>
            {identity?.host ?? <span class="note">unknown</span>}
            {identity?.pid != null && ` pid ${identity.pid}`}
          </dd>
        </div>
        <div>
          <dt>Address</dt>
          <dd class="id">{session.address ?? <span class="note">unknown</span>}</dd>
        </div>
        <div>
          <dt>Connected to</dt>
          <dd>{session.server ?? <span class="note">unknown</span>}</dd>
        </div>
        <div>
          <dt>Time-out</dt>
          <dd>{session.timeoutMs === null ? <span class="note">unknown</span> : span(session.timeoutMs)}</dd>
        </div>
        <div>
          <dt>Established</dt>
          <dd>
            <Age of={session.established} zone={view.zone} />
          </dd>
        </div>
        <div>
          <dt>Last seen</dt>
          <dd>
            <Age of={session.lastSeen} zone={view.zone} />
          </dd>
        </div>
      </dl>
      {messages.map((each) => (
        <p key={each} class="notice info">
          <Icon name="info" />
          <span>{each}</span>
        </p>
      ))}
      <p class="notice info">
        <Icon name="info" />
        <span>
          If it ends: {many(released, "lock")} {released === 1 ? "is" : "are"} released,{" "}
          {many(movedUp, "waiter")} {movedUp === 1 ? "moves" : "move"} up.
        </span>
      </p>
      <div class="two">
        <Locks title="Holds" none="No locks." locks={session.holds} all={session.holdCount} view={view} />
        <Locks title="Waits for" none="No locks." locks={session.waits} all={session.waitCount} view={view} />
      </div>
    </>
  );
}
