import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import type { PastHoldRow, Story as StoryAnswer, StoryQuery } from "../../../../src/contract/history.js";
import { get, pathWith } from "../../api/client.js";
import { ApiFailure } from "../../api/failure.js";
import { useResource } from "../../app/use-resource.js";
import { useView, type View } from "../../app/view.js";
import { duration } from "../../format/duration.js";
import { endWords } from "../../format/endings.js";
import { instant } from "../../format/instant.js";
import { count, many } from "../../format/number.js";
import { middle } from "../../format/participant.js";
import { At } from "../../parts/age.js";
import { Mark } from "../../parts/marks.js";
import { Scroll } from "../../parts/scroll.js";
import { Loading, OldNews } from "../../parts/states.js";
import { StoreNotes } from "../../parts/store-notes.js";

const ranges = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;
type Range = keyof typeof ranges;
const names = Object.keys(ranges) as Range[];
const pageSize = 100;

interface Shown {
  readonly range: Range;
  /** `null` means until now. */
  readonly untilMs: number | null;
}

function shownOf(search: string): Shown {
  const query = new URLSearchParams(search);
  const until = query.get("until") ?? "";
  return {
    range: names.find((each) => each === query.get("range")) ?? "day",
    untilMs: /^\d{1,15}$/.test(until) ? Number(until) : null,
  };
}

/** What happened to the lock in an hour, a day or a week, from the dashboard's history. */
export function Story(): JSX.Element {
  const id = useRoute().params.id ?? "";
  const view = useView();
  const { range, untilMs } = shownOf(view.search);
  const query: StoryQuery = { range, limit: pageSize, ...(untilMs !== null && { untilMs }) };
  const path = `locks/${encodeURIComponent(id)}/story`;
  const { data, failure } = useResource<StoryAnswer>(pathWith(path, query), untilMs === null ? 10_000 : null);
  const page = `locks/${encodeURIComponent(id)}`;
  const to = (next: Shown): string =>
    view.href(page, { range: next.range, ...(next.untilMs !== null && { until: String(next.untilMs) }) });
  const endMs = data?.toMs ?? untilMs;
  return (
    <section class="story">
      <div class="story-head">
        <h2>Timeline</h2>
        <nav class="ranges" aria-label="Range of the timeline">
          {names.map((each) => (
            <a
              key={each}
              class="button small"
              href={to({ range: each, untilMs })}
              aria-current={each === range ? "true" : undefined}
            >
              {each}
            </a>
          ))}
          {endMs !== null && (
            <a class="button small" href={to({ range, untilMs: endMs - ranges[range] })}>
              Earlier
            </a>
          )}
          {untilMs !== null && (
            <a class="button small" href={to({ range, untilMs: null })}>
              Until now
            </a>
          )}
        </nav>
      </div>
      {failure !== null && <OldNews failure={failure} />}
      {data === null ? (
        failure === null && <Loading rows={3} />
      ) : (
        <Told key={`${range} ${untilMs}`} story={data} path={path} query={query} view={view} />
      )}
    </section>
  );
}

function Told(props: { story: StoryAnswer; path: string; query: StoryQuery; view: View }): JSX.Element {
  const { story, path, query, view } = props;
  const [older, setOlder] = useState<readonly PastHoldRow[]>([]);
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const cursor = next === undefined ? story.next : next;
  // The first page moves on with each answer, so the rows below it are read anew then.
  useEffect(() => {
    setOlder([]);
    setNext(undefined);
  }, [story.holds[0]?.endMs]);
  const more = (): void => {
    get<StoryAnswer>(pathWith(path, { ...query, untilMs: story.toMs, cursor: cursor ?? undefined })).then(
      (answer) => {
        setOlder((before) => [...before, ...answer.holds]);
        setNext(answer.next);
        setFailure(null);
      },
      (error: unknown) => {
        if (!(error instanceof ApiFailure)) throw error;
        setFailure(error);
      },
    );
  };
  const holds = [...story.open, ...story.holds, ...older];
  const sum = (of: "grants" | "lost"): number => story.steps.reduce((so, step) => so + step[of], 0);
  return (
    <>
      <p class="note">
        <At ms={story.fromMs} zone={view.zone} toSecond /> to <At ms={story.toMs} zone={view.zone} toSecond />
        : {many(sum("grants"), "grant")}, {count(sum("lost"))} lost
        {story.firstSeenMs !== null && (
          <>
            ; first seen <At ms={story.firstSeenMs} zone={view.zone} toSecond />
          </>
        )}
      </p>
      <StoreNotes history={story.history} fromMs={story.fromMs} view={view} />
      <Track story={story} holds={holds} view={view} />
      {holds.length === 0 ? (
        <p class="note">Nothing of this lock is known in this time.</p>
      ) : (
        <HoldTable holds={holds} view={view} />
      )}
      {failure !== null && <OldNews failure={failure} />}
      {cursor !== null && (
        <button type="button" onClick={more}>
          More of this {query.range}
        </button>
      )}
    </>
  );
}

/** Bars of single holds above columns of the grants. The table below has the same in words. */
function Track({
  story,
  holds,
  view,
}: {
  story: StoryAnswer;
  holds: readonly PastHoldRow[];
  view: View;
}): JSX.Element {
  const { fromMs, toMs, steps } = story;
  const at = (ms: number): number => (Math.min(Math.max(ms, fromMs), toMs) - fromMs) / (toMs - fromMs);
  const share = (ms: number): string => `${(at(ms) * 100).toFixed(3)}%`;
  const most = Math.max(1, ...steps.map(({ grants }) => grants));
  return (
    <div class="track" role="img" aria-label={`${many(holds.length, "hold")}, listed below`}>
      <div class="bars">
        {holds.map((each, index) => {
          const begin = each.since.atMs ?? each.endMs ?? toMs;
          const end = each.endMs ?? toMs;
          const { tone } = endWords(each.reason);
          return (
            <span
              key={index}
              class={`bar ${tone}`}
              title={`${each.identity?.label ?? each.entry}: ${duration(end - begin)}`}
              style={{
                insetInlineStart: share(begin),
                inlineSize: `max(2px, ${((at(end) - at(begin)) * 100).toFixed(3)}%)`,
              }}
            />
          );
        })}
      </div>
      <div class="columns">
        {steps.map((step) => (
          <span
            key={step.fromMs}
            class={step.lost > 0 ? "column bad" : "column"}
            title={`${instant(step.fromMs, view.zone)}: ${many(step.grants, "grant")}, ${count(step.lost)} lost`}
            style={{
              insetInlineStart: share(step.fromMs),
              inlineSize: `${((at(step.toMs) - at(step.fromMs)) * 100).toFixed(3)}%`,
              blockSize: `${Math.max(2, (step.grants / most) * 100)}%`,
            }}
          />
        ))}
      </div>
    </div>
  );
}

function Who({ hold }: { hold: PastHoldRow }): JSX.Element {
  const { identity, session, entry } = hold;
  const name = identity?.label ?? identity?.host ?? null;
  return (
    <>
      {name === null ? (
        <span class="key id" title={session ?? entry}>
          {middle(session ?? entry, 30)}
        </span>
      ) : (
        name
      )}
      {identity?.label != null && identity.host !== null && <span class="note block">{identity.host}</span>}
    </>
  );
}

function HoldTable({ holds, view }: { holds: readonly PastHoldRow[]; view: View }): JSX.Element {
  return (
    <Scroll label="Holds">
      <table>
        <caption class="hidden-text">Holds, newest end first</caption>
        <thead>
          <tr>
            <th scope="col">Owner</th>
            <th scope="col">Held from</th>
            <th scope="col">End</th>
            <th scope="col" class="number">
              Held for
            </th>
            <th scope="col" class="number">
              Waited
            </th>
            <th scope="col">Token</th>
          </tr>
        </thead>
        <tbody>
          {holds.map((each, index) => (
            <tr key={`${each.entry} ${each.endMs} ${index}`}>
              <th scope="row">
                <Who hold={each} />
              </th>
              <td>
                {each.since.atMs === null ? (
                  <span class="note">not seen</span>
                ) : (
                  <At ms={each.since.atMs} zone={view.zone} toSecond />
                )}
                {each.since.provenance === "at-least" && <span class="note block">or earlier</span>}
              </td>
              <td>
                <Mark {...endWords(each.reason)} />
                {each.endMs !== null && (
                  <span class="note block">
                    <At ms={each.endMs} zone={view.zone} toSecond />
                  </span>
                )}
              </td>
              <td class="number">
                {each.heldMs === null ? (
                  <span class="note">{each.endMs === null ? "" : "not seen"}</span>
                ) : (
                  duration(each.heldMs)
                )}
              </td>
              <td class="number">
                {each.waitedMs === null ? (
                  <span class="note">not seen</span>
                ) : each.waitedMs === 0 ? (
                  "no"
                ) : (
                  duration(each.waitedMs)
                )}
              </td>
              <td>
                {each.token === null ? (
                  <span class="note">not known</span>
                ) : (
                  <span class="key">{each.token}</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
