import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ClusterRow } from "../../../src/contract/api.js";
import type { ApiFailure } from "../api/failure.js";
import { clusters, clustersOf, mayDiscover } from "../app/store.js";
import type { View } from "../app/view.js";
import { notKnownNow } from "../format/absence.js";
import { percent } from "../format/number.js";
import { looksForLocks } from "../format/places.js";
import { lateSources } from "../format/sources.js";
import { Icon, type IconName } from "./icon.js";

/** A place that is empty, and why. */
export function Nothing(props: {
  title: string;
  icon?: IconName;
  /** Whether this is all that the page has, so that its title is the page's. */
  whole?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  const Title = props.whole ? "h1" : "h2";
  return (
    <div class="nothing">
      <Icon name={props.icon ?? "idle"} />
      <Title>{props.title}</Title>
      {props.children}
    </div>
  );
}

function useElapsed(ms: number): boolean {
  const [elapsed, setElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return elapsed;
}

/** Grey rows after 200 ms; after 5 s also the sources that are slow. */
export function Loading({ rows = 6 }: { rows?: number }): JSX.Element | null {
  const shown = useElapsed(200);
  const slow = useElapsed(5000);
  if (!shown) return null;
  return (
    <div class="loading" aria-busy="true">
      <p class={slow ? "" : "hidden-text"}>{slow ? whoIsSlow() : "Loading"}</p>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} class="skeleton" />
      ))}
    </div>
  );
}

function whoIsSlow(): string {
  const late = lateSources(clusters.value ?? []);
  return late.length === 0
    ? "The dashboard's server has not answered for 5 s."
    : `Still waiting for the answer. ${late.join("; ")}.`;
}

const titles: Record<ApiFailure["kind"], string> = {
  unreachable: "The dashboard does not answer",
  "signed-out": "Not signed in",
  denied: "Not allowed",
  missing: "Not there",
  refused: "The server did not accept this",
  limited: "Too many requests",
  server: "The dashboard's server has failed",
  broken: "Not an answer of the dashboard",
};

export function Failed(props: { failure: ApiFailure; retry: () => void; whole?: boolean }): JSX.Element {
  const { failure, retry } = props;
  const Title = props.whole ? "h1" : "h2";
  const { kind, message, status, code } = failure;
  return (
    <div class="nothing" role="alert">
      <Icon name={kind === "denied" || kind === "signed-out" ? "denied" : "down"} />
      <Title>{titles[kind]}</Title>
      <p>{message}</p>
      {status > 0 && <p class="note">{[`HTTP ${status}`, code].filter(Boolean).join(" · ")}</p>}
      {kind === "signed-out" ? (
        <button type="button" onClick={() => location.reload()}>
          Sign in
        </button>
      ) : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shown above older data when the last request failed. */
export function OldNews({ failure }: { failure: ApiFailure }): JSX.Element {
  return (
    <p class="notice warn" role="status">
      <Icon name="stale" />
      <span>
        {titles[failure.kind]}: {failure.message} What stands below is the last that was known.
      </span>
    </p>
  );
}

/** Shown when nothing was found, but not everything is known now. */
function NoneKnown({ what, unknown }: { what: string; unknown: readonly string[] }): JSX.Element {
  return (
    <Nothing title={`No ${what} are known`} icon="stale">
      <p>{unknown.join(", ")}: there may be some that cannot be seen now.</p>
    </Nothing>
  );
}

/**
 * Shown when a list is empty. `what` names its rows in one word. `clusters` are those that the list covers; `null`
 * while they are not known yet.
 */
export function NoneFound(props: {
  what: string;
  title: string;
  clusters: readonly ClusterRow[] | null;
}): JSX.Element {
  if (props.clusters === null) return <Loading />;
  const unknown = notKnownNow(props.clusters);
  return unknown.length > 0 ? (
    <NoneKnown what={props.what} unknown={unknown} />
  ) : (
    <Nothing title={props.title} icon="ok" />
  );
}

/** Why a list of locks is empty although no filter hides rows. There are five reasons, each with its own text. */
export function NoLocks({ view }: { view: View }): JSX.Element {
  const known = clustersOf(view.cluster) ?? [];
  if (known.length === 0) {
    return (
      <Nothing title={view.cluster === null ? "No cluster is configured" : `No cluster ${view.cluster}`}>
        <p>
          Name one in the configuration file, or start with --zookeeper host:2181/path or --redis
          redis://host.
        </p>
      </Nothing>
    );
  }
  if (!known.some(looksForLocks)) {
    return (
      <Nothing title="No roots and no key patterns are configured" icon="search">
        <p>
          The dashboard does not know where to look for locks.{" "}
          {mayDiscover.value
            ? "It can look through the backend once and propose places."
            : "Looking for places requires the role operator."}
        </p>
        {mayDiscover.value && (
          <p>
            {known.map(({ name }) => (
              <a key={name} class="button" href={view.href("backends", { discover: name })}>
                Discover in {name}
              </a>
            ))}
          </p>
        )}
      </Nothing>
    );
  }
  const partial = known.filter(({ coverage }) => coverage < 1);
  if (partial.length > 0) {
    return (
      <Nothing title="No locks seen so far" icon="syncing">
        <p>
          Not everything has been read yet:{" "}
          {partial.map(({ name, coverage }) => `${name} ${percent(coverage)}`).join(", ")}.
        </p>
      </Nothing>
    );
  }
  const unknown = notKnownNow(known);
  if (unknown.length > 0) return <NoneKnown what="locks" unknown={unknown} />;
  return (
    <Nothing title="There are no locks" icon="ok">
      <p>
        {known.map(({ name }) => name).join(", ")}: everything configured has been read, and no lock exists
        now.
      </p>
    </Nothing>
  );
}
