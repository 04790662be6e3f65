import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Zone } from "../format/instant.js";

const height = 150;

export interface Point {
  readonly atMs: number;
  readonly value: number;
}

function columns(points: readonly Point[]): uPlot.AlignedData {
  return [points.map(({ atMs }) => atMs / 1000), points.map(({ value }) => value)];
}

/** Draws into `place`, at its full width. The colours are those of the style sheet at this moment. */
export function drawChart(
  place: HTMLElement,
  options: { readonly label: string; readonly tone: 1 | 2; readonly zone: Zone },
  points: readonly Point[],
): { update(points: readonly Point[]): void; end(): void } {
  const probe = document.createElement("i");
  place.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const line = colour(`--line-${options.tone}`);
  const fill = colour(`--fill-${options.tone}`);
  const ink = colour("--muted");
  const grid = colour("--border");
  probe.remove();
  const axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  const chart = new uPlot(
    {
      width: Math.max(200, place.clientWidth),
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      ...(options.zone === "utc" && { tzDate: (s: number) => uPlot.tzDate(new Date(s * 1000), "Etc/UTC") }),
      scales: {
        // The range is at least a minute. Around a single point it would be days.
        x: { range: (_, first, last) => [Math.min(first, last - 60), last] },
        y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 70,
          values: [
            [60, "{HH}:{mm}", null, null, null, null, null, null, 1],
            [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
          ],
        },
        { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000] },
      ],
      series: [{}, { label: options.label, stroke: line, fill, width: 1.5, points: { show: false } }],
    },
    columns(points),
    place,
  );
  const fit = new ResizeObserver(() => chart.setSize({ width: Math.max(200, place.clientWidth), height }));
  fit.observe(place);
  return {
    update: (fresh) => chart.setData(columns(fresh)),
    end() {
      fit.disconnect();
      chart.destroy();
    },
  };
}
