import type { ComponentChildren, JSX } from "preact";
import type { LockDetail, LockRow, Participant } from "../../../../src/contract/api.js";
import { now } from "../../app/store.js";
import type { View } from "../../app/view.js";
import { whyNoHolders } from "../../format/absence.js";
import { lostContact, sessionTimeout } from "../../format/contact.js";
import { count, many } from "../../format/number.js";
import { libraryOf } from "../../format/words.js";
import { Age } from "../../parts/age.js";
import { Lease, Mark } from "../../parts/marks.js";
import { OutsideLinks, ownerValues } from "../../parts/outside-links.js";
import { Who } from "../../parts/who.js";

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Holder(props: {
  holder: Participant;
  detail: LockDetail;
  stale: boolean;
  view: View;
  actions: ComponentChildren;
}): JSX.Element {
  const { holder, detail, stale, view, actions } = props;
  const { lock } = detail;
  const lost = lostContact(holder, detail, now.value);
  const timeout = sessionTimeout(holder, detail);
  return (
    <li class="holder-card">
      <p class="holder-name">
        <Who participant={holder} cluster={lock.cluster} view={view} />
        {lost !== null && <Mark icon="warning" tone="warn" text={lost} />}
        <OutsideLinks on="owner" values={ownerValues(holder, lock)} />
        <span class="actions">{actions}</span>
      </p>
      <dl class="facts">
        <Fact name={holder.mayBeKept ? "Held or kept for" : "Held for"}>
          <Age of={holder.since} zone={view.zone} />
          {holder.mayBeKept && <span class="note"> its client may keep it for its next owner</span>}
        </Fact>
        <Fact name="Token">
          {holder.token === null ? (
            <span class="note">none</span>
          ) : (
            <span class="key id" title={holder.token}>
              {holder.token}
            </span>
          )}
        </Fact>
        <Fact name="Lease">
          <Lease participant={holder} lock={lock} stale={stale} />
        </Fact>
        {holder.mode === "shared" && <Fact name="Mode">shared (read)</Fact>}
        {holder.permits !== 1 && <Fact name="Permits">{count(holder.permits)}</Fact>}
        {holder.holdCount !== null && <Fact name="Entered">{many(holder.holdCount, "time")}</Fact>}
        <Fact name="Library">{libraryOf(holder.library)}</Fact>
        {holder.session !== null && (
          <Fact name="Session">
            <a
              class="key id"
              href={view.href(`sessions/${encodeURIComponent(holder.session)}`, { of: lock.cluster })}
            >
              {holder.session}
            </a>
          </Fact>
        )}
        {timeout !== null && <Fact name="Time-out">{timeout}</Fact>}
        <Fact name="Entry">
          <span class="key id" title={holder.entry}>
            {holder.entry}
          </span>
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

/** True for a semaphore on ZooKeeper that has waiters. */
function mayShowNext({ kind, backend, limit, waiterCount }: LockRow): boolean {
  return kind === "semaphore" && backend === "zookeeper" && limit === null && waiterCount > 0;
}

export function Holders(props: {
  detail: LockDetail;
  stale: boolean;
  view: View;
  actionsOf: (entry: string) => ComponentChildren;
}): JSX.Element {
  const { detail, stale, view, actionsOf } = props;
  const { lock } = detail;
  return (
    <section>
      <h2>
        {lock.holderCount > 1
          ? `Holders (${count(lock.holderCount)}${lock.limit === null ? "" : ` of ${count(lock.limit)}`})`
          : "Holder"}
      </h2>
      {lock.holders.length === 0 ? (
        <p class="note">{whyNoHolders(detail)}</p>
      ) : (
        <ul class="holders">
          {lock.holders.map((each) => (
            <Holder
              key={each.entry}
              holder={each}
              detail={detail}
              stale={stale}
              view={view}
              actions={actionsOf(each.entry)}
            />
          ))}
        </ul>
      )}
      {mayShowNext(lock) && (
        <p class="note">
          Curator keeps the limit in its clients, and the first in the queue may have made a permit already:
          then the newest of these is not granted yet.
        </p>
      )}
      {lock.holderCount > lock.holders.length && (
        <p class="note">
          The first {lock.holders.length} of {count(lock.holderCount)}.
        </p>
      )}
    </section>
  );
}
