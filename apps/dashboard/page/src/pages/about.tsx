import type { JSX } from "preact";
import { apiUrl, base } from "../app/base.js";
import { clusters, me } from "../app/store.js";
import { useTitle, useView } from "../app/view.js";
import { many, percent } from "../format/number.js";
import { SourceState } from "../parts/marks.js";

export function AboutPage(): JSX.Element {
  const view = useView();
  useTitle("About");
  const who = me.value;
  return (
    <>
      <div class="page-head">
        <h1>About</h1>
      </div>
      <dl class="facts boxed">
        <div>
          <dt>Version</dt>
          <dd>holdfast dashboard {who?.version ?? "unknown"}</dd>
        </div>
        <div>
          <dt>You</dt>
          <dd>
            {who?.name ?? "not signed in"} {who !== null && <span class="tag">{who.role}</span>}
          </dd>
        </div>
        <div>
          <dt>Actions</dt>
          <dd>
            {who === null ? "unknown" : who.actions ? "on, as far as your role goes" : "off for everybody"}
          </dd>
        </div>
        <div>
          <dt>For programs</dt>
          <dd>
            <a href={apiUrl("overview")}>API</a>, <a href={`${base}metrics`}>metrics</a>
          </dd>
        </div>
      </dl>
      <div class="two">
        <section>
          <h2>What is shown, and how sure it is</h2>
          <p>
            The dashboard looks at the backends from outside, at locks of Curator, kazoo, Redisson and
            holdfast alike. What it shows is a picture, already a little old; the server keeps it and all
            browsers read the same one.
          </p>
          <dl class="terms">
            <dt>exact</dt>
            <dd>A time that the backend itself keeps, such as the creation of a node.</dd>
            <dt>≥, first seen</dt>
            <dd>
              At least so long: the backend keeps no such time, and this is when the dashboard first saw it.
            </dd>
            <dt>unknown</dt>
            <dd>Nobody measured it, so no number stands there.</dd>
            <dt>conn</dt>
            <dd>
              Connections that wait on a lock of Redisson's that is not fair. Each is one waiter or more.
            </dd>
            <dt>hidden</dt>
            <dd>Waiters of this kind of lock leave no trace in the backend.</dd>
            <dt>coverage</dt>
            <dd>
              How much of what there is has been looked at since the start. Below 100 % a list may lack rows.
            </dd>
          </dl>
        </section>
        <section>
          <h2>Clusters</h2>
          <ul class="plain-list">
            {(clusters.value ?? []).map((each) => (
              <li key={each.name}>
                <SourceState state={each.state} /> <a href={view.href("backends")}>{each.name}</a>{" "}
                <span class="note">
                  {each.backend}, {many(each.locks, "lock")}, coverage {percent(each.coverage)}
                </span>
              </li>
            ))}
          </ul>
          <h2>What it needs of the backends</h2>
          <p>
            ZooKeeper: read on the roots; delete for forced releases. Redis: the right to read,{" "}
            <span class="key">SCAN</span>, <span class="key">PUBSUB</span>, <span class="key">INFO</span>, and{" "}
            <span class="key">CLIENT LIST</span>; scripts only for actions.
          </p>
        </section>
      </div>
    </>
  );
}
