import type { JSX } from "preact";
import { apiUrl, base } from "../app/base.js";
import { clusters, me } from "../app/store.js";
import { useTitle, useView } from "../app/view.js";
import { many, readSoFar } from "../format/number.js";
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
            {who === null
              ? "unknown"
              : who.actions
                ? "on, within the rights of your role"
                : "off in the configuration"}
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
          <h2>How values are known</h2>
          <p>
            The dashboard reads the backends from outside: locks of Curator, kazoo, Redisson and holdfast
            alike. What it shows is a moment old. Its server keeps one picture for all browsers.
          </p>
          <dl class="terms">
            <dt>exact</dt>
            <dd>A time that the backend itself keeps, such as the creation of a node.</dd>
            <dt>≥, first seen</dt>
            <dd>
              At least so long: the backend keeps no such time, and this is when the dashboard first saw it.
            </dd>
            <dt>unknown</dt>
            <dd>It was not measured, so no number is shown.</dd>
            <dt>at least 2</dt>
            <dd>
              Of a Redisson lock that is not fair, connections that wait are counted. Each is one waiter or
              more.
            </dd>
            <dt>hidden</dt>
            <dd>Waiters of this kind of lock leave no trace in the backend.</dd>
            <dt>complete</dt>
            <dd>
              Everything has been read since the start. Before that a share is shown, and a list may lack
              rows.
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
                  {each.backend}, {many(each.locks, "lock")}, {readSoFar(each.coverage)}
                </span>
              </li>
            ))}
          </ul>
          <h2>What it needs of the backends</h2>
          <p>
            ZooKeeper: read on the roots; for actions also delete and write below them. Redis: the rights in
            the README; without <span class="key">EVAL_RO</span> reading costs more.
          </p>
        </section>
      </div>
    </>
  );
}
