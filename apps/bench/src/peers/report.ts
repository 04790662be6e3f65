import { cpus, loadavg, release, totalmem } from "node:os";
import type { Absence, PeersResult } from "./measure.js";
import type { Memory } from "./memory.js";
import { type Peer, peers } from "./peers.js";
import { type FigureName, ratio, type Sample, type Spread, spread } from "./statistics.js";
import { type Backend, type Workload, workloads } from "./workloads.js";

/** Where and when it was measured. */
export interface Circumstances {
  readonly command: string;
  /** Such as `2026-11-23`. */
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** Of the last minute before the first measurement. */
  readonly load: number;
}

export interface PeersReport extends PeersResult {
  /** Of each run of the command that figures come from. */
  readonly runs: readonly Circumstances[];
  /** Empty where it was not asked for. */
  readonly memory: readonly Memory[];
}

/** What several runs measured, as if it were one; no two of them have the same workload. */
export function together(reports: readonly PeersReport[]): PeersReport {
  return {
    runs: reports.flatMap(({ runs }) => runs),
    samples: reports.flatMap(({ samples }) => samples),
    absences: reports.flatMap(({ absences }) => absences),
    memory: reports.flatMap(({ memory }) => memory),
    versions: Object.assign({}, ...reports.map(({ versions }) => versions)),
    complete: reports.every(({ complete }) => complete),
  };
}

export function thisMachine(): Pick<Circumstances, "machine" | "load"> {
  const [first] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return {
    machine: `${cpus().length} cores of ${first?.model ?? "an unknown kind"}, ${gib} GiB, ${process.platform} ${release()}`,
    load: loadavg()[0] as number,
  };
}

interface Column {
  readonly figure: FigureName;
  readonly title: string;
  readonly digits: number;
  /** Whether it is set in relation to the reference. */
  readonly compared: boolean;
}

const cpuTitle = "CPU s per 1,000";
const workColumns: readonly Column[] = [
  { figure: "rate", title: "a second", digits: 0, compared: true },
  { figure: "p50Ms", title: "p50 ms", digits: 3, compared: true },
  { figure: "p99Ms", title: "p99 ms", digits: 2, compared: true },
  { figure: "clientCpu", title: `client ${cpuTitle}`, digits: 3, compared: true },
  { figure: "serverCpu", title: `server ${cpuTitle}`, digits: 3, compared: true },
  { figure: "requests", title: "requests each", digits: 1, compared: true },
  { figure: "passedBy", title: "passed by, mean", digits: 2, compared: false },
  { figure: "passedByMost", title: "at most", digits: 0, compared: false },
];
const idleColumns: readonly Column[] = [
  { figure: "requests", title: "requests a second", digits: 1, compared: true },
  { figure: "serverShare", title: "share of a core, server", digits: 4, compared: true },
  { figure: "clientShare", title: "share of a core, client", digits: 4, compared: true },
];

const backendTitles: Readonly<Record<Backend, string>> = { zookeeper: "ZooKeeper", redis: "Redis" };

/** All figures and the ratios, without a word on how to read them. */
export function figuresMarkdown(report: PeersReport): string {
  const backends = (["zookeeper", "redis"] as const).filter((backend) =>
    report.samples.some((sample) => sample.backend === backend),
  );
  return [
    ...backends.flatMap((backend) => [`## ${backendTitles[backend]}`, ...sections(report, backend)]),
    ...memorySection(report.memory),
    ...absenceSection(report.absences),
  ].join("\n\n");
}

function sections({ samples }: PeersReport, backend: Backend): string[] {
  const { name: reference } = peers.find(
    (peer) => peer.backend === backend && peer.reference === true,
  ) as Peer;
  const measured = workloads
    .map((workload) => ({
      workload,
      own: samples.filter((sample) => sample.backend === backend && sample.workload === workload.name),
    }))
    .filter(({ own }) => own.length > 0);
  return [
    ...overview(measured, reference),
    ...measured.flatMap(({ workload, own }) => section(workload, own, reference)),
  ];
}

interface MeasuredWorkload {
  readonly workload: Workload;
  readonly own: readonly Sample[];
}

const byPeer = (samples: readonly Sample[], name: string): Sample[] =>
  samples.filter(({ peer }) => peer === name);

/** Ours, and as floor the rate of the shortest exchange, in all workloads that the reference has too. */
function overview(measured: readonly MeasuredWorkload[], reference: string): string[] {
  const columns = workColumns.filter(({ compared }) => compared);
  const rows = measured
    .filter(({ workload }) => workload.kind !== "idle")
    .map(({ workload, own }) => {
      const cell = (peer: string, figure: FigureName): string =>
        spreadText(ratio(byPeer(own, peer), byPeer(own, reference), figure), 2);
      return [
        workload.name,
        ...columns.map(({ figure }) => cell("holdfast", figure)),
        cell("shortest", "rate"),
      ];
    })
    .filter(([, ...cells]) => cells.some((cell) => cell !== "-"));
  if (rows.length === 0) return [];
  const titles = [`${reference} = 1`, ...columns.map(({ title }) => title), "shortest: a second"];
  return ["### holdfast in all workloads", table(titles, rows)];
}

function section(workload: Workload, samples: readonly Sample[], reference: string): string[] {
  const all = workload.kind === "idle" ? idleColumns : workColumns;
  const columns = all.filter(({ figure }) => spread(samples, figure) !== null);
  const measured = new Set(samples.map(({ peer }) => peer));
  const names = [...new Set(peers.map(({ name }) => name))].filter((name) => measured.has(name));
  const of = (peer: string): Sample[] => byPeer(samples, peer);
  const figures = table(
    ["peer", ...columns.map(({ title }) => title)],
    names.map((peer) => [
      peer,
      ...columns.map(({ figure, digits }) => spreadText(spread(of(peer), figure), digits)),
    ]),
  );
  const parts = [`### ${workload.name}`, `${workload.what}.`, figures];
  const compared = columns.filter(
    (column) =>
      column.compared && names.some((peer) => ratio(of(peer), of(reference), column.figure) !== null),
  );
  if (names.length < 2 || compared.length === 0) return parts;
  const ratios = table(
    [`${reference} = 1`, ...compared.map(({ title }) => title)],
    names
      .filter((peer) => peer !== reference)
      .map((peer) => [
        peer,
        ...compared.map(({ figure }) => spreadText(ratio(of(peer), of(reference), figure), 2)),
      ]),
  );
  return [...parts, ratios];
}

function memorySection(memory: readonly Memory[]): string[] {
  if (memory.length === 0) return [];
  const rows = memory.map((each) => [
    each.backend,
    count(each.holds),
    count(each.bytesPerHold),
    count(each.waiters),
    count(each.bytesPerWaiter),
  ]);
  return [
    "## Heap",
    "Bytes of live heap in our process for each lock held, and for each waiter on one lock, of one client.",
    table(["backend", "locks held", "bytes each", "waiters", "bytes each"], rows),
  ];
}

function absenceSection(absences: readonly Absence[]): string[] {
  if (absences.length === 0) return [];
  const lines = absences.map(
    ({ backend, peer, workload, why }) =>
      `- ${peer} (${backendTitles[backend]}), ${workload ?? "all workloads"}: ${why.split("\n")[0]}`,
  );
  return ["## Not measured", lines.join("\n")];
}

/** One line of Markdown for each row, padded as the formatter of this repository has it. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}

/** `1,130 (1,100-1,210)`; the middle alone where all rounds agree. */
export function spreadText(values: Spread | null, digits: number): string {
  if (values === null) return "-";
  const [median, least, most] = [values.median, values.least, values.most].map((value) =>
    count(value, digits),
  );
  return least === most ? (median as string) : `${median} (${least}-${most})`;
}

function count(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
