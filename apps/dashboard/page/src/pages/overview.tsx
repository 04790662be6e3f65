import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ClusterRow, Overview } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { clustersOf, heard, listen, findings as live, now, stream } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { noWaitWord } from "../format/absence.js";
import { ago, duration } from "../format/duration.js";
import { timeOfDay } from "../format/instant.js";
import { count, many, rate, readSoFar } from "../format/number.js";
import { Chart } from "../parts/chart.js";
import { LockTable } from "../parts/lock-table.js";
import { SourceState } from "../parts/marks.js";
import { Problems } from "../parts/problems.js";
import { Failed, Loading, NoLocks, NoneFound, OldNews } from "../parts/states.js";

function Tile(props: {
  label: string;
  value: string;
  note?: string;
  href?: string;
  tone?: string;
}): JSX.Element {
  const inside = (
    <>
      <span class="tile-label">{props.label}</span>
      <span class="tile-value">{props.value}</span>
      {props.note !== undefined && <span class="note">{props.note}</span>}
    </>
  );
  return (
    <li class={`tile ${props.tone ?? ""}`}>
      {props.href === undefined ? <div>{inside}</div> : <a href={props.href}>{inside}</a>}
    </li>
  );
}

/**
 * The holds that are known to be lost. More may be lost: a ZooKeeper session that ends looks like a release from
 * outside.
 */
function Lost({ lost, nowMs, view }: { lost: Overview["lost"]; nowMs: number; view: View }): JSX.Element {
  const short = nowMs - lost.sinceMs < 3_600_000;
  return (
    <Tile
      label="Lost in the last hour"
      value={count(lost.count)}
      note={short ? `seen since ${timeOfDay(lost.sinceMs, view.zone).slice(0, 5)}` : "expired or forced"}
      {...(lost.count > 0 && { tone: "bad" })}
    />
  );
}

function ClusterCard({ cluster, view }: { cluster: ClusterRow; view: View }): JSX.Element {
  return (
    <li class="card">
      <p class="card-head">
        <SourceState state={cluster.state} />
        <a href={view.href("backends")}>
          <strong>{cluster.name}</strong>
        </a>
        <span class="note">{cluster.backend}</span>
      </p>
      <p>
        {many(cluster.locks, "lock")}, {readSoFar(cluster.coverage)}
      </p>
      {cluster.state !== "ok" && (
        <p class="note">
          {cluster.lastSuccessMs === null
            ? "never reached"
            : `state of ${ago(now.value - cluster.lastSuccessMs)}`}
        </p>
      )}
    </li>
  );
}

function Hot({ overview, view }: { overview: Overview; view: View }): JSX.Element {
  const { hot: rows, held, clusters } = overview;
  if (rows.length === 0 && held > 0)
    return <NoneFound what="waits" title="No lock has waiters" clusters={clusters} />;
  return rows.length === 0 ? (
    <NoLocks view={view} />
  ) : (
    <LockTable label="Hot locks" rows={rows} view={view} brief />
  );
}

export function OverviewPage(): JSX.Element {
  const view = useView();
  useTitle("Overview");
  const one = view.cluster;
  // The stream has only the figures of all clusters together. Those of one cluster are asked for.
  const { data, failure, loading, reload } = useResource<Overview>(
    one === null ? "overview" : pathWith("overview", { cluster: one }),
    one === null ? 30_000 : 2_000,
  );
  const [streamed, setStreamed] = useState<Overview | null>(null);
  useEffect(() => {
    if (one !== null) return;
    const who = {};
    stream.want(who, { rows: [], overview: true, findings: true });
    const end = listen({
      overview(fresh) {
        heard(fresh.nowMs);
        setStreamed(fresh);
      },
    });
    return () => {
      end();
      stream.want(who, null);
      setStreamed(null);
    };
  }, [one]);
  const overview =
    one === null && streamed !== null && (data === null || streamed.nowMs >= data.nowMs) ? streamed : data;
  const waiting = useMemo(
    () => (overview?.series ?? []).map(({ atMs, waiting: value }) => ({ atMs, value })),
    [overview],
  );
  const grants = useMemo(
    () => (overview?.series ?? []).map(({ atMs, grants: each }) => ({ atMs, value: each / 5 })),
    [overview],
  );
  if (overview === null) {
    return (
      <>
        <h1>Overview</h1>
        {loading || failure === null ? <Loading /> : <Failed failure={failure} retry={reload} />}
      </>
    );
  }
  const oldest = overview.oldestWaitMs;
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
        {one !== null && <p class="note">Cluster {one} only.</p>}
      </div>
      {failure !== null && <OldNews failure={failure} />}
      <Problems
        rows={live.value ?? overview.findings}
        clusters={clustersOf(one) ?? overview.clusters}
        view={view}
      />
      <ul class="tiles">
        <Tile label="Held" value={count(overview.held)} href={view.href("locks", { state: "held" })} />
        <Tile
          label="Contended"
          value={count(overview.contended)}
          href={view.href("locks", { state: "contended" })}
          {...(overview.contended > 0 && { tone: "warn" })}
        />
        <Tile
          label="Waiters"
          value={count(overview.waiting)}
          href={view.href("locks", { state: "contended" })}
          note="that can be seen"
        />
        <Tile
          label="Longest wait"
          value={oldest === null ? noWaitWord(overview.waiting) : duration(oldest)}
          href={view.href("locks", { state: "contended", sort: "wait" })}
        />
        <Lost lost={overview.lost} nowMs={overview.nowMs} view={view} />
        <Tile label="Grants per second" value={rate(overview.grantsPerSecond)} note="that were seen" />
      </ul>
      <section>
        <h2>Hot locks</h2>
        <Hot overview={overview} view={view} />
      </section>
      <div class="two">
        <Chart title="Waiters" unit="waiters" points={waiting} tone={1} zone={view.zone} />
        <Chart title="Grants per second" unit="grants/s" points={grants} tone={2} zone={view.zone} />
      </div>
      <section>
        <h2>
          <a href={view.href("backends")}>Clusters</a>
        </h2>
        <ul class="cards">
          {overview.clusters.map((each) => (
            <ClusterCard key={each.name} cluster={each} view={view} />
          ))}
        </ul>
      </section>
    </>
  );
}
