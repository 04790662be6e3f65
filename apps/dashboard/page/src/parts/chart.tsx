import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../app/preferences.js";
import type { Zone } from "../format/instant.js";
import { rate } from "../format/number.js";
import { At } from "./age.js";
import type { Point } from "./draw-chart.js";

/**
 * A line over time, drawn by a script that is loaded when it is needed. It becomes a table on request, or if that
 * script fails.
 */
export function Chart(props: {
  title: string;
  unit: string;
  points: readonly Point[];
  tone: 1 | 2;
  zone: Zone;
}): JSX.Element {
  const { title, unit, points, tone, zone } = props;
  const [table, setTable] = useState(false);
  const [failed, setFailed] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ update(points: readonly Point[]): void; end(): void } | null>(null);
  const latest = useRef(points);
  latest.current = points;
  const dressed = theme.value;

  // Another theme has other colours, so the chart is drawn anew.
  useEffect(() => {
    if (table || failed) return;
    let over = false;
    const systemDark = matchMedia("(prefers-color-scheme: dark)");
    const draw = (): void => {
      import("./draw-chart.js").then(
        ({ drawChart }) => {
          if (over || place.current === null) return;
          drawn.current?.end();
          drawn.current = drawChart(place.current, { label: unit, tone, zone }, latest.current);
        },
        () => setFailed(true),
      );
    };
    draw();
    systemDark.addEventListener("change", draw);
    return () => {
      over = true;
      systemDark.removeEventListener("change", draw);
      drawn.current?.end();
      drawn.current = null;
    };
  }, [table, failed, dressed, unit, tone, zone]);
  useEffect(() => drawn.current?.update(points), [points]);

  const last = points.at(-1);
  const most = points.reduce((so, { value }) => Math.max(so, value), 0);
  return (
    <figure class="chart">
      <figcaption>
        <span>
          <strong>{title}</strong>{" "}
          <span class="note">
            {last === undefined ? "no data yet" : `now ${rate(last.value)}, most ${rate(most)} in 10 min`}
          </span>
        </span>
        <button type="button" class="small" aria-pressed={table} onClick={() => setTable(!table)}>
          As table
        </button>
      </figcaption>
      {failed && <p class="note">The chart could not be loaded; here are its numbers.</p>}
      {table || failed ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section class="chart-table" tabIndex={0} aria-label={title}>
          <table>
            <caption class="hidden-text">{title}, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col" class="number">
                  {unit}
                </th>
              </tr>
            </thead>
            <tbody>
              {points.toReversed().map(({ atMs, value }) => (
                <tr key={atMs}>
                  <td>
                    <At ms={atMs} zone={zone} short />
                  </td>
                  <td class="number">{rate(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <div
          ref={place}
          class="chart-place"
          role="img"
          aria-label={`${title}: ${last === undefined ? "no data yet" : `${rate(last.value)} now, at most ${rate(most)}`}. The button before it shows the numbers as a table.`}
        />
      )}
    </figure>
  );
}
