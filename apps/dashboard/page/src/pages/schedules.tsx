import type { JSX } from "preact";
import type { ScheduleRow, Schedules } from "../../../src/contract/api.js";
import { pathWith } from "../api/client.js";
import { clustersOf } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import { useTitle, useView, type View } from "../app/view.js";
import { span } from "../format/duration.js";
import { many } from "../format/number.js";
import { At } from "../parts/age.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/marks.js";
import { Scroll } from "../parts/scroll.js";
import { Failed, Loading, Nothing, OldNews } from "../parts/states.js";

const tones = {
  running: { icon: "held", tone: "info" },
  done: { icon: "ok", tone: "good" },
  failed: { icon: "critical", tone: "bad" },
} as const;

function Row({ row: { cluster, name, last }, view }: { row: ScheduleRow; view: View }): JSX.Element {
  return (
    <tr>
      <th scope="row">
        <span class="key">{name}</span>
        <span class="note block">{cluster}</span>
      </th>
      {last === null ? (
        <td colSpan={5} class="note">
          It has not run yet.
        </td>
      ) : (
        <>
          <td>
            <Mark {...tones[last.state]} text={last.state} />
            {last.attempt > 1 && <span class="note"> attempt {last.attempt}</span>}
          </td>
          <td>
            <At ms={last.dueMs} zone={view.zone} />
          </td>
          <td class="number">{last.endedMs === null ? "" : span(last.endedMs - last.beganMs)}</td>
          <td>{last.by}</td>
          <td class="long">{last.error}</td>
        </>
      )}
    </tr>
  );
}

export function SchedulesPage(): JSX.Element {
  const view = useView();
  useTitle("Schedules");
  const { data, failure, loading, reload } = useResource<Schedules>(
    pathWith("schedules", { cluster: view.cluster ?? undefined }),
    5_000,
  );
  const shown = (clustersOf(view.cluster) ?? []).some(({ schedules }) => schedules);
  const failed = (data?.rows ?? []).filter(({ last }) => last?.state === "failed").length;
  return (
    <>
      <div class="page-head">
        <h1>Schedules</h1>
        {data !== null && (
          <p class="coverage">
            <strong>{many(data.rows.length, "schedule")}</strong>
            {failed > 0 && <span> · the last run of {failed} failed</span>}
          </p>
        )}
      </div>
      {data?.messages.map((each) => (
        <p key={each} class="notice warn">
          <Icon name="stale" />
          <span>{each}</span>
        </p>
      ))}
      {loading && <Loading />}
      {failure !== null &&
        (data === null ? <Failed failure={failure} retry={reload} /> : <OldNews failure={failure} />)}
      {data !== null && data.rows.length === 0 && data.messages.length === 0 && (
        <Nothing title={shown ? "There are no schedules" : "Schedules are not shown"} icon="idle">
          <p>
            {shown
              ? "No program has started a schedule of @holdfast/schedules here."
              : "A cluster whose configuration has the key schedules shows the last runs of @holdfast/schedules."}
          </p>
        </Nothing>
      )}
      {data !== null && data.rows.length > 0 && (
        <Scroll label="Schedules">
          <table>
            <caption class="hidden-text">Schedules and their last runs, by cluster and name</caption>
            <thead>
              <tr>
                <th scope="col">Schedule</th>
                <th scope="col">Last run</th>
                <th scope="col">Due</th>
                <th scope="col" class="number">
                  Took
                </th>
                <th scope="col">Ran at</th>
                <th scope="col">Error</th>
              </tr>
            </thead>
            <tbody>
              {data.rows.map((row) => (
                <Row key={`${row.cluster} ${row.name}`} row={row} view={view} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}
