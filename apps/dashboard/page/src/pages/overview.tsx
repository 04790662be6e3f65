import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ClusterRow, FindingRow, Overview } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { heard, listen, now, stream } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { ago, duration, span } from "../format/duration.js";
import { count, many, percent, rate } from "../format/number.js";
import { Chart } from "../parts/chart.js";
import { FindingCards } from "../parts/finding-list.js";
import { LockTable } from "../parts/lock-table.js";
import { SourceState } from "../parts/marks.js";
import { Failed, Loading, NoLocks, Nothing, NoWaits, OldNews } from "../parts/states.js";

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

/** A session of ZooKeeper that ends looks from outside like a release, so this is not all that may have been lost. */
function Lost({ lost, nowMs }: { lost: Overview["lost"]; nowMs: number }): JSX.Element {
  const forMs = nowMs - lost.sinceMs;
  return (
    <Tile
      label={forMs >= 3_600_000 ? "Lost (1 h)" : `Lost (${span(forMs)})`}
      value={count(lost.count)}
      note="leases that ran out, forced releases"
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
        {many(cluster.locks, "lock")} known, coverage {percent(cluster.coverage)}
      </p>
      {cluster.state !== "ok" && (
        <p class="note">
          {cluster.lastSuccessMs === null ? "never heard" : `heard ${ago(now.value - cluster.lastSuccessMs)}`}
        </p>
      )}
    </li>
  );
}

function Hot({ overview, view }: { overview: Overview; view: View }): JSX.Element {
  const { hot: rows, held, clusters } = overview;
  if (rows.length === 0 && held > 0)
    return <NoWaits title="Nobody waits for a lock that is held" clusters={clusters} />;
  return rows.length === 0 ? (
    <NoLocks view={view} />
  ) : (
    <LockTable label="Hot locks" rows={rows} view={view} brief />
  );
}

function OpenFindings({ rows, view }: { rows: readonly FindingRow[]; view: View }): JSX.Element {
  const open = rows.filter(({ muted }) => muted === null);
  return open.length === 0 ? (
    <Nothing title="Nothing is wrong that the dashboard could see" icon="ok" />
  ) : (
    <FindingCards rows={open.slice(0, 6)} view={view} />
  );
}

export function OverviewPage(): JSX.Element {
  const view = useView();
  useTitle("Overview");
  const one = view.cluster;
  // The stream tells of all clusters together; of one it is asked for.
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
        {one !== null && <p class="note">Of {one} alone.</p>}
      </div>
      {failure !== null && <OldNews failure={failure} />}
      <ul class="tiles">
        <Tile label="Held" value={count(overview.held)} href={view.href("locks", { state: "held" })} />
        <Tile
          label="Contended"
          value={count(overview.contended)}
          href={view.href("locks", { state: "contended" })}
          {...(overview.contended > 0 && { tone: "warn" })}
        />
        <Tile
          label="Waiting"
          value={count(overview.waiting)}
          href={view.href("locks", { state: "contended" })}
          note="callers that can be seen"
        />
        <Tile
          label="Oldest wait"
          value={oldest === null ? "none" : duration(oldest)}
          href={view.href("locks", { state: "contended", sort: "wait" })}
        />
        <Lost lost={overview.lost} nowMs={overview.nowMs} />
        <Tile label="Grants per second" value={rate(overview.grantsPerSecond)} note="that were seen" />
      </ul>
      <div class="two">
        <Chart title="Waiting callers" unit="callers" points={waiting} tone={1} zone={view.zone} />
        <Chart title="Grants per second" unit="grants/s" points={grants} tone={2} zone={view.zone} />
      </div>
      <section>
        <h2>Hot locks</h2>
        <Hot overview={overview} view={view} />
      </section>
      <div class="two">
        <section>
          <h2>
            <a href={view.href("findings")}>Findings</a>
          </h2>
          <OpenFindings rows={overview.findings} view={view} />
        </section>
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
      </div>
    </>
  );
}
