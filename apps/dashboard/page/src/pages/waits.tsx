import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Waits } from "../../../src/contract/api.js";
import { clustersOf, now } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { count, many } from "../format/number.js";
import { middle, short } from "../format/participant.js";
import { type Blocker, type Held, waitForest, waitsIn } from "../format/wait-tree.js";
import { ExportLinks } from "../parts/export-links.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/marks.js";
import { Failed, Loading, NoneFound, OldNews } from "../parts/states.js";

const limit = 400;
type Names = ReadonlyMap<string, Waits["actors"][number]>;

function Actor({ id, names }: { id: string; names: Names }): JSX.Element {
  const actor = names.get(id);
  return (
    <span class="who" title={id}>
      <span class="name">{actor?.label || short(id)}</span>{" "}
      {actor !== undefined && actor.label !== id && <span class="note key id">{short(id)}</span>}
    </span>
  );
}

function Behind({ held, names, view }: { held: Held; names: Names; view: View }): JSX.Element {
  const [open, setOpen] = useState(held.blocked.length <= 12);
  return (
    <li>
      <span class="line">
        <button
          type="button"
          class="plain-button"
          aria-expanded={open}
          aria-label={`Who waits for ${held.key}`}
          onClick={() => setOpen(!open)}
        >
          <Icon name="next" />
        </button>
        <span class="note">holds</span>
        <a data-row class="key" href={view.href(`locks/${held.lockId}`)} title={held.key}>
          {middle(held.key, 60)}
        </a>
        <span class="tag">{held.blocked.length} waiting</span>
      </span>
      {open && (
        <ul>
          {held.blocked.map(({ blocker, deadlineMs }) => (
            <Branch key={blocker.actor} blocker={blocker} deadlineMs={deadlineMs} names={names} view={view} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Branch(props: {
  blocker: Blocker;
  deadlineMs: number | null;
  names: Names;
  view: View;
}): JSX.Element {
  const { blocker, deadlineMs, names, view } = props;
  return (
    <li>
      <span class="line">
        <Actor id={blocker.actor} names={names} />
        {deadlineMs !== null && <span class="note">gives up in {span(deadlineMs - now.value)}</span>}
        {blocker.again && <span class="note">shown elsewhere</span>}
        {!blocker.again && blocker.behind > 0 && (
          <span class="note">{many(blocker.behind, "waiter")} behind</span>
        )}
      </span>
      {blocker.holds.length > 0 && (
        <ul>
          {blocker.holds.map((each) => (
            <Behind key={each.lockId} held={each} names={names} view={view} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** The cycle as a picture. The list beside it says the same. */
function Ring({ actors, names }: { actors: readonly string[]; names: Names }): JSX.Element | null {
  if (actors.length > 8) return null;
  const place = (at: number): { x: number; y: number } => {
    const angle = (2 * Math.PI * at) / actors.length - Math.PI / 2;
    return { x: 150 + 100 * Math.cos(angle), y: 95 + 62 * Math.sin(angle) };
  };
  return (
    <svg class="ring" viewBox="0 0 300 190" aria-hidden="true">
      <defs>
        <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
          <path d="M0 0 8 4 0 8Z" />
        </marker>
      </defs>
      {actors.map((_, at) => {
        const from = place(at);
        const to = place((at + 1) % actors.length);
        const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
        const cut = 22 / length;
        // Moved to the side a little, because two actors that wait for each other would otherwise share one line.
        const [dx, dy] = [(-(to.y - from.y) / length) * 5, ((to.x - from.x) / length) * 5];
        return (
          <line
            key={at}
            x1={from.x + (to.x - from.x) * cut + dx}
            y1={from.y + (to.y - from.y) * cut + dy}
            x2={to.x - (to.x - from.x) * cut + dx}
            y2={to.y - (to.y - from.y) * cut + dy}
            marker-end="url(#tip)"
          />
        );
      })}
      {actors.map((actor, at) => {
        const { x, y } = place(at);
        return (
          <g key={at}>
            <circle cx={x} cy={y} r="15" />
            <text x={x} y={y + 4}>
              {at + 1}
            </text>
            <title>{names.get(actor)?.label ?? actor}</title>
          </g>
        );
      })}
    </svg>
  );
}

function Cycle({
  cycle,
  waits,
  names,
  view,
}: {
  cycle: Waits["cycles"][number];
  waits: Waits;
  names: Names;
  view: View;
}): JSX.Element {
  const { actors, lockIds, certainty, resolvesMs } = cycle;
  const certain = certainty === "certain";
  const keys = new Map(waits.edges.map(({ lockId, key }) => [lockId, key]));
  return (
    <li class={`card ${certain ? "critical" : "warning"} cycle`}>
      <div>
        <p class="card-head">
          <Mark
            icon={certain ? "critical" : "warning"}
            tone={certain ? "bad" : "warn"}
            text={certain ? "deadlock" : "possible deadlock"}
          />
          <span class="note">
            {certain
              ? "Each of them is one thread, and it has stayed."
              : "The holder may be another thread or task of its process than the one that waits."}
          </span>
        </p>
        <ol>
          {actors.map((actor, at) => {
            const lockId = lockIds[at];
            return (
              <li key={at}>
                <Actor id={actor} names={names} />
                <span class="note"> waits for </span>
                {lockId !== undefined && (
                  <a data-row class="key" href={view.href(`locks/${lockId}`)}>
                    {middle(keys.get(lockId) ?? lockId, 48)}
                  </a>
                )}
                <span class="note"> held by {((at + 1) % actors.length) + 1}</span>
              </li>
            );
          })}
        </ol>
        <p>
          {resolvesMs === null
            ? "No deadline can be seen: it does not end by itself."
            : `It ends by itself in ${span(resolvesMs - now.value)}, when the first of them gives up.`}
        </p>
      </div>
      <Ring actors={actors} names={names} />
    </li>
  );
}

export function WaitsPage(): JSX.Element {
  const view = useView();
  useTitle("Waits");
  const { data, failure, loading, reload } = useResource<Waits>("waits", 3000);
  const { edges, cycles, blind } = useMemo(
    () => waitsIn(data ?? { edges: [], cycles: [], blind: [] }, view.cluster),
    [data, view.cluster],
  );
  const { forest, left } = useMemo(() => waitForest(edges, limit), [edges]);
  const deadlocks = cycles.filter(({ certainty }) => certainty === "certain").length;
  const names: Names = useMemo(() => new Map((data?.actors ?? []).map((each) => [each.actor, each])), [data]);
  return (
    <>
      <div class="page-head">
        <h1>Waits</h1>
        {data !== null && (
          <p class="coverage">
            <strong>{count(edges.length)}</strong> {edges.length === 1 ? "wait" : "waits"},{" "}
            {many(deadlocks, "deadlock")}, {count(cycles.length - deadlocks)} possible
          </p>
        )}
        <ExportLinks list="waits" query={{ cluster: view.cluster ?? undefined }} />
      </div>
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && cycles.length > 0 && (
        <section>
          <h2>{deadlocks === 0 ? "Possible deadlocks" : "Deadlocks"}</h2>
          <ul class="cards">
            {cycles.map((each) => (
              <Cycle key={each.lockIds.join(" ")} cycle={each} waits={data} names={names} view={view} />
            ))}
          </ul>
        </section>
      )}
      {data !== null && (
        <section>
          <h2>Who blocks whom</h2>
          {forest.length === 0 ? (
            <NoneFound what="waits" title="No waits can be seen" clusters={clustersOf(view.cluster)} />
          ) : (
            <ul class="forest">
              {forest.map((each) => (
                <Branch key={each.actor} blocker={each} deadlineMs={null} names={names} view={view} />
              ))}
            </ul>
          )}
          {left > 0 && <p class="note">{many(left, "waiter")} more, not shown.</p>}
        </section>
      )}
      {blind.map(({ message }) => (
        <p key={message} class="notice info">
          <Icon name="info" />
          <span>{message}</span>
        </p>
      ))}
    </>
  );
}
