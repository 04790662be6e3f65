import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Backends, Discoveries, ServerRow } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { mayDiscover, now } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { ago, due } from "../format/duration.js";
import { many, readSoFar } from "../format/number.js";
import { isWithoutPlaces } from "../format/places.js";
import { momentIn, standingOf } from "../format/sources.js";
import { libraryOf } from "../format/words.js";
import { At } from "../parts/age.js";
import { Icon } from "../parts/icon.js";
import { Mark, SourceState } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";

type Cluster = Backends["clusters"][number];

function Fact({ value, view }: { value: string; view: View }): JSX.Element {
  const atMs = momentIn(value);
  return atMs === null ? (
    <span class="figure">{value}</span>
  ) : (
    <span class="whole">
      <At ms={atMs} zone={view.zone} toSecond />
    </span>
  );
}

function Servers({
  servers,
  name,
  view,
}: {
  servers: readonly ServerRow[];
  name: string;
  view: View;
}): JSX.Element {
  const facts = [...new Set(servers.flatMap((each) => each.facts.map((fact) => fact.name)))];
  return (
    <Scroll label={`Servers of ${name}`}>
      <table class="servers">
        <caption class="hidden-text">Servers of {name}</caption>
        <thead>
          <tr>
            <th scope="col">Server</th>
            <th scope="col">Role</th>
            <th scope="col">Reachable</th>
            <th scope="col">Version</th>
            {facts.map((each) => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {servers.map((server) => (
            <tr key={server.name}>
              <th scope="row">
                <span class="id">{server.name}</span>
              </th>
              <td>
                {["leader", "master"].includes(server.role) ? <strong>{server.role}</strong> : server.role}
              </td>
              <td>
                <Mark
                  icon={server.reachable ? "ok" : "down"}
                  tone={server.reachable ? "good" : "bad"}
                  text={server.reachable ? "yes" : "no"}
                />
              </td>
              <td>{server.version ?? <span class="note">unknown</span>}</td>
              {facts.map((each) => {
                const fact = server.facts.find(({ name: fact }) => fact === each);
                return (
                  <td key={each}>
                    {fact === undefined ? (
                      <span class="note">none</span>
                    ) : fact.warning ? (
                      <Mark icon="warning" tone="warn" text={fact.value} />
                    ) : (
                      <Fact value={fact.value} view={view} />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Sources({ cluster, view }: { cluster: Cluster["cluster"]; view: View }): JSX.Element {
  return (
    <Scroll label={`What the dashboard reads of ${cluster.name}`}>
      <table>
        <caption class="hidden-text">What the dashboard reads of {cluster.name}</caption>
        <thead>
          <tr>
            <th scope="col">Source</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Read
            </th>
            <th scope="col">Last contact</th>
            <th scope="col">Next try</th>
            <th scope="col">Cost</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          {cluster.sources.map((each) => {
            const { what, idle, coverage } = standingOf(each);
            return (
              <tr key={each.source}>
                <th scope="row">
                  <span class="key id">{each.source}</span>
                  <span class="note below">{what}</span>
                </th>
                <td>
                  {idle === null ? (
                    <SourceState state={each.state} />
                  ) : (
                    <Mark icon="idle" tone="quiet" text={idle} />
                  )}
                </td>
                <td class="number">{coverage ?? <span class="note">none</span>}</td>
                <td>
                  {each.lastSuccessMs === null ? (
                    <span class="note">never</span>
                  ) : (
                    ago(now.value - each.lastSuccessMs)
                  )}
                </td>
                <td>
                  {each.nextTryMs === null ? (
                    <span class="note">none due</span>
                  ) : (
                    due(each.nextTryMs - now.value)
                  )}
                </td>
                <td>{each.cost ?? <span class="note">none</span>}</td>
                <td class="long">
                  {isWithoutPlaces(each) && mayDiscover.value && (
                    <a href={view.href("backends", { discover: cluster.name })}>Discover places</a>
                  )}{" "}
                  {each.message}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Searches for places with locks only when the user asks for it, because it costs the backend something. */
function Discover({ cluster, view }: { cluster: string; view: View }): JSX.Element {
  const [asked, setAsked] = useState(false);
  const { data, failure, loading, reload } = useResource<Discoveries>(
    asked ? pathWith("discover", { cluster }) : null,
  );
  return (
    <section class="card">
      <h3>Discover places in {cluster}</h3>
      <p>
        Reads through what is there now, once, and proposes roots or key patterns for the configuration. It
        changes nothing. A large ensemble feels the load for a moment.
      </p>
      {!asked && (
        <button type="button" onClick={() => setAsked(true)}>
          Look through once
        </button>
      )}
      {loading && <Loading rows={2} />}
      {failure !== null && <Failed failure={failure} retry={reload} />}
      {data !== null &&
        (data.rows.length === 0 ? (
          <p>Nothing that looks like a lock is there now.</p>
        ) : (
          <table>
            <caption class="hidden-text">Places that look as if locks were kept there</caption>
            <thead>
              <tr>
                <th scope="col">Root or pattern</th>
                <th scope="col" class="number">
                  Locks
                </th>
                <th scope="col">Libraries</th>
              </tr>
            </thead>
            <tbody>
              {data.rows.map((each) => (
                <tr key={each.root}>
                  <th scope="row" class="key">
                    {each.root}
                  </th>
                  <td class="number">{each.locks}</td>
                  <td>{each.libraries.map(libraryOf).join(", ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      <p>
        <a href={view.href("backends")}>Close</a>
      </p>
    </section>
  );
}

export function BackendsPage(): JSX.Element {
  const view = useView();
  useTitle("Backends");
  const { data, failure, loading, reload } = useResource<Backends>("backends", 5000);
  const discover = new URLSearchParams(view.search).get("discover");
  const shown = (data?.clusters ?? []).filter(
    ({ cluster }) => view.cluster === null || cluster.name === view.cluster,
  );
  return (
    <>
      <div class="page-head">
        <h1>Backends</h1>
      </div>
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && shown.length === 0 && (
        <Nothing title="No cluster is configured">
          <p>
            Name one in the configuration file, or start with --zookeeper host:2181/path or --redis
            redis://host.
          </p>
        </Nothing>
      )}
      {shown.map(({ cluster, servers, message }) => (
        <section key={cluster.name} class="cluster">
          <div class="page-head">
            <h2>{cluster.name}</h2>
            <span class="note">{cluster.backend}</span>
            <SourceState state={cluster.state} />
            <span class="note">
              {many(cluster.locks, "lock")}, {readSoFar(cluster.coverage)}
            </span>
          </div>
          {message !== null && (
            <p class="notice warn">
              <Icon name="warning" />
              <span>{message}</span>
            </p>
          )}
          {servers.length > 0 ? (
            <Servers servers={servers} name={cluster.name} view={view} />
          ) : (
            <p class="note">Its servers are not known.</p>
          )}
          <h3>What the dashboard reads, and its cost</h3>
          <Sources cluster={cluster} view={view} />
          {discover === cluster.name && mayDiscover.value && <Discover cluster={cluster.name} view={view} />}
        </section>
      ))}
    </>
  );
}
