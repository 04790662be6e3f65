import { cpus, loadavg, release, totalmem } from "node:os";
import type { Absence, PeersResult } from "./measure.js";
import type { Memory } from "./memory.js";
import { type Peer, peers } from "./peers.js";
import { type FigureName, ratio, type Sample, spread } from "./statistics.js";
import { type Judged, judge, targets } from "./targets.js";
import { numberText, spreadText, table } from "./text.js";
import { type Backend, type Workload, workloads } from "./workloads.js";

/** Where and when it was measured. */
export interface Circumstances {
  readonly command: string;
  /** Such as `2026-11-23`. */
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** The load average of the last minute before the first measurement. */
  readonly load: number;
}

export interface PeersReport extends PeersResult {
  /** The circumstances of each run of the command from which figures come. */
  readonly runs: readonly Circumstances[];
  /** Empty if it was not asked for. */
  readonly memory: readonly Memory[];
}

/** What several runs measured, as if it were one run. Rounds of a later run come after those of an earlier one. */
export function together(reports: readonly PeersReport[]): PeersReport {
  const samples: Sample[] = [];
  for (const report of reports) {
    const last = samples.reduce((most, { round }) => Math.max(most, round), 0);
    samples.push(...report.samples.map((sample) => ({ ...sample, round: last + sample.round })));
  }
  return {
    runs: reports.flatMap(({ runs }) => runs),
    samples,
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
    machine: `${cpus().length} cores of ${first?.model ?? "an unknown kind"}, ${gib} GiB, ${process.platform} ${release().split(".", 2).join(".")}`,
    load: loadavg()[0] as number,
  };
}

interface Column {
  readonly figure: FigureName;
  readonly title: string;
  /** The unit after the title. It is left out for a ratio. */
  readonly unit?: string;
  /** The factor that converts the figure to its unit. */
  readonly scale?: number;
  /** Whether the figure is set in relation to the reference. */
  readonly compared: boolean;
}

const microseconds = { unit: "µs", scale: 1_000, compared: true };
const processorTime = { unit: "s per 1,000", compared: true };
const workColumns: readonly Column[] = [
  { figure: "rate", title: "a second", compared: true },
  { figure: "handOffRate", title: "hand-offs a second", compared: true },
  { figure: "p50Ms", title: "p50", ...microseconds },
  { figure: "p99Ms", title: "p99", ...microseconds },
  { figure: "clientCpu", title: "client CPU", ...processorTime },
  { figure: "serverCpu", title: "server CPU", ...processorTime },
  { figure: "requests", title: "requests each", compared: true },
  { figure: "passedBy", title: "passed by, mean", compared: false },
  { figure: "passedByMost", title: "at most", compared: false },
];
const idleColumns: readonly Column[] = [
  { figure: "requests", title: "requests a second", compared: true },
  { figure: "serverShare", title: "share of a core, server", compared: true },
  { figure: "clientShare", title: "share of a core, client", compared: true },
];

const columnsOf = ({ kind }: Workload): readonly Column[] => (kind === "idle" ? idleColumns : workColumns);
const titleOf = ({ title, unit }: Column): string => (unit === undefined ? title : `${title} ${unit}`);

const backendTitles: Readonly<Record<Backend, string>> = { zookeeper: "ZooKeeper", redis: "Redis" };

/** All figures and ratios, without an explanation of how to read them. */
export function figuresMarkdown(report: PeersReport): string {
  const backends = (["zookeeper", "redis"] as const).filter((backend) =>
    report.samples.some((sample) => sample.backend === backend),
  );
  return [
    ...targetSection(report.samples),
    ...backends.flatMap((backend) => [`## ${backendTitles[backend]}`, ...sections(report, backend)]),
    ...memorySection(report.memory),
    ...absenceSection(report.absences),
  ].join("\n\n");
}

/** Targets whose workload was measured. */
function targetSection(samples: readonly Sample[]): string[] {
  const rows = targets
    .filter(({ backend, workload }) =>
      samples.some((sample) => sample.backend === backend && sample.workload === workload),
    )
    .map((target) => targetRow(judge(target, samples)));
  if (rows.length === 0) return [];
  const titles = ["what", "measured", "must", "aim", "reached", "shortest"];
  return ["## Targets", table(titles, rows)];
}

function targetRow({ target, measured, shortest, reached }: Judged): string[] {
  const { backend, must, aim, of } = target;
  const workload = workloads.find(({ name }) => name === target.workload) as Workload;
  const column = columnsOf(workload).find(({ figure }) => figure === target.figure) as Column;
  const what = of === "ratio" ? `${column.title}, ${referenceOf(backend)} = 1` : titleOf(column);
  const scale = of === "ratio" ? 1 : (column.scale ?? 1);
  const bound = (value: number): string =>
    `${aim > must ? "≥" : "≤"} ${Number((value * scale).toPrecision(3))}`;
  return [
    `${target.workload} on ${backendTitles[backend]}: ${what}`,
    spreadText(measured, scale),
    bound(must),
    bound(aim),
    reached,
    spreadText(shortest, scale),
  ];
}

function referenceOf(backend: Backend): string {
  return (peers.find((peer) => peer.backend === backend && peer.reference === true) as Peer).name;
}

function sections({ samples }: PeersReport, backend: Backend): string[] {
  const reference = referenceOf(backend);
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

/**
 * The ratios of holdfast in all workloads that the reference has too, and as a floor the rate of the shortest exchange.
 */
function overview(measured: readonly MeasuredWorkload[], reference: string): string[] {
  const columns = workColumns.filter(({ compared }) => compared);
  const rows = measured
    .filter(({ workload }) => workload.kind !== "idle")
    .map(({ workload, own }) => {
      const cell = (peer: string, figure: FigureName): string =>
        spreadText(ratio(byPeer(own, peer), byPeer(own, reference), figure));
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
  const columns = columnsOf(workload).filter(({ figure }) => spread(samples, figure) !== null);
  const measured = new Set(samples.map(({ peer }) => peer));
  const names = [...new Set(peers.map(({ name }) => name))].filter((name) => measured.has(name));
  const of = (peer: string): Sample[] => byPeer(samples, peer);
  const figures = table(
    ["peer", ...columns.map(titleOf)],
    names.map((peer) => [
      peer,
      ...columns.map(({ figure, scale }) => spreadText(spread(of(peer), figure), scale)),
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
        ...compared.map(({ figure }) => spreadText(ratio(of(peer), of(reference), figure))),
      ]),
  );
  return [...parts, ratios];
}

function memorySection(memory: readonly Memory[]): string[] {
  if (memory.length === 0) return [];
  const rows = memory.map((each) => [
    each.backend,
    numberText(each.holds),
    numberText(each.bytesPerHold),
    numberText(each.waiters),
    numberText(each.bytesPerWaiter),
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
