import { parseArgs } from "node:util";
import { peers } from "../peers/peers.js";
import { targetPeers, targets } from "../peers/targets.js";
import { type Backend, heapRow, workloads } from "../peers/workloads.js";

export type Command =
  | "pairs"
  | "memory"
  | "embedded"
  | "herd"
  | "redis"
  | "heartbeats"
  | "fence"
  | "dashboard"
  | "peers";

export interface Options {
  readonly command: "help" | Command;
  /** `null`: start servers of our own. */
  readonly connect: string | null;
  readonly nodes: number;
  /** A PostgreSQL server, for `fence`. */
  readonly database: string;
  readonly pairs: number;
  readonly holds: number;
  readonly waiters: number;
  readonly sessionTimeoutMs: number;
  readonly inFlight: number;
  readonly znodes: number;
  readonly sessions: number;
  readonly locks: number;
  readonly others: number;
  readonly streams: number;
  readonly historyMegabytes: number;
  readonly users: number;
  /** 0: as fast as possible. */
  readonly changesPerSecond: number;
  readonly phaseMs: number;
  /** `null`: the dashboard's own default. */
  readonly longHoldMs: number | null;
  readonly json: boolean;
  /** The options of `peers`. */
  readonly peers: {
    readonly backends: readonly Backend[];
    readonly names: readonly string[];
    readonly workloads: readonly string[];
    readonly rounds: number;
    readonly quick: boolean;
    /** Measures only what targets need, and fails if a target is missed. */
    readonly targets: boolean;
    readonly write: boolean;
    /** Files with the output of `--json`; empty: measure. */
    readonly from: readonly string[];
  };
}

/** The command line cannot be right. The message names what to change. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

const peerNames = [...new Set(peers.map(({ name }) => name))];
const workloadNames = [...workloads.map(({ name }) => name), heapRow];
const targetNames = workloadNames.filter((name) => targets.some(({ workload }) => workload === name));
const backends: readonly Backend[] = ["zookeeper", "redis"];

export const help: string = `Usage: node apps/bench/dist/main.js <command> [options]

Commands
  pairs    one session, alone, acquires and releases one lock again and again; prints the rate and how late answers
           came, and fails when one came later than a second
  memory   bytes of heap for each lock held and for each waiter
  embedded the embedded server of @holdfast/test-servers: how long its start takes, how many pairs of create and
           delete it does in a second, and what it weighs full; fails when an aim is missed
  herd     packets that one server has for each hand-off while many wait: naive lock, fair mutex, readers behind writers
  dashboard what the dashboard's process weighs and how long its event loop stands still, with many locks on ZooKeeper
           and on Redis behind it and many streams in front; fails when an aim is missed
  redis    one Redis server: pairs of acquire and release in a second, and how long a hand-off takes while many wait
  heartbeats what renewals of held locks and heartbeats of waiters cost one Redis server in each second
  fence    what a guard of @holdfast/fence adds to an update in PostgreSQL, in turns with one without a guard
  peers    our locks beside those of other libraries, in turn, on one ZooKeeper and one Redis: rates, latencies, processor
           time and requests, as tables with ratios; peers that are not on this machine are named

Options
  --nodes <n>               servers to start: 1 for one on its own, else an ensemble (default: 3 for pairs, 1 for memory)
  --connect <servers>       use this ZooKeeper instead, such as h1:2181,h2:2181/app; the path must exist
  --database <url>          for fence: postgres://user@host:port/database of a server, which fence does not start; its user
                            makes a database for the run, which is dropped at the end
  --pairs <n>               default 200000; 100000 for embedded, 20000 for redis and fence
  --session-timeout <ms>    for pairs (default 30000)
  --holds <n>               for memory (default 10000) and heartbeats (default 2000)
  --waiters <n>             for memory (default 1000), heartbeats (default 2000), herd and redis (default 200)
  --in-flight <n>           requests without an answer at a time, for embedded (default 256)
  --znodes <n>              for embedded (default 100000)
  --sessions <n>            for embedded (default 1000)
  --locks <n>               for dashboard, on each of the two (default 100000)
  --others <n>              keys on Redis that are no locks, for dashboard (default 0)
  --streams <n>             clients of the stream, for dashboard; 0 for none (default 500)
  --users <n>               viewers who share these streams, for dashboard (default 0: one without credentials)
  --changes <n>             changes a second while streams are open, for dashboard (default 0: as fast as it goes)
  --history <MB>            size of the store of a history, for dashboard (default 0: none is kept)
  --phase <ms>              of streams, and of looking but 20000 at most, for dashboard; of each workload, for heartbeats
                            (default 20000)
  --long-hold <ms>          age from which holds are findings and their nodes are read, for dashboard (default: its own)
  --backend <name>          zookeeper or redis, for peers (default: both)
  --peers <names>           for peers, with commas between (default: all)
                            ${peerNames.join(", ")}
  --workloads <names>       for peers, with commas between (default: all)
                            ${workloadNames.slice(0, 9).join(", ")},
                            ${workloadNames.slice(9).join(", ")}
  --rounds <n>              for peers (default 5)
  --targets                 for peers: only the workloads and peers that the targets of this project need, unless others are
                            named; the exit code is 1 when what must be reached is missed
  --quick                   for peers: one round of moments, to see that all runs; the figures say nothing
  --write                   for peers: writes docs/performance.md; not with --quick
  --from <files>            for peers: shows, or writes, what --json printed earlier instead of measuring; commas between
  --json                    the figures as one line of JSON, for dashboard and peers
  --help                    this text

The exit code is 0 when all is well, 1 when not, 2 for wrong options. Progress goes to the error output.`;

const ownServers: ReadonlySet<string> = new Set([
  "embedded",
  "herd",
  "redis",
  "heartbeats",
  "fence",
  "dashboard",
  "peers",
]);

/** @throws UsageError */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [command, ...more] = positionals;
  const ownServer = command !== undefined && ownServers.has(command);
  if (ownServer && (values.connect !== undefined || values.nodes !== undefined)) {
    throw new UsageError(`${command} starts its own server: --connect and --nodes are not for it`);
  }
  if (more.length > 0) throw new UsageError(`one command at a time, not also ${more.join(" ")}`);
  if (values.connect !== undefined && values.nodes !== undefined) {
    throw new UsageError("--connect uses servers that are there, --nodes starts some: give one of the two");
  }
  return {
    command: values.help === true ? "help" : commandOf(command),
    connect: values.connect ?? null,
    nodes: count("--nodes", values.nodes ?? (command === "pairs" ? "3" : "1"), 9),
    database: databaseOf(command, values),
    pairs: count("--pairs", values.pairs ?? defaultPairs(command), 1e9),
    holds: count("--holds", values.holds ?? (command === "heartbeats" ? "2000" : "10000"), 1e6),
    waiters: count("--waiters", values.waiters ?? defaultWaiters(command), 1e5),
    sessionTimeoutMs: count("--session-timeout", values["session-timeout"] ?? "30000", 1e7),
    inFlight: count("--in-flight", values["in-flight"] ?? "256", 1e6),
    znodes: count("--znodes", values.znodes ?? "100000", 1e7),
    sessions: count("--sessions", values.sessions ?? "1000", 1e4),
    locks: count("--locks", values.locks ?? "100000", 1e6),
    others: count("--others", values.others ?? "0", 1e8, 0),
    historyMegabytes: count("--history", values.history ?? "0", 1e6, 0),
    users: count("--users", values.users ?? "0", 1_000, 0),
    changesPerSecond: count("--changes", values.changes ?? "0", 1e6, 0),
    streams: count("--streams", values.streams ?? "500", 1_900, 0),
    phaseMs: count("--phase", values.phase ?? "20000", 1e7),
    longHoldMs: values["long-hold"] === undefined ? null : count("--long-hold", values["long-hold"], 1e9),
    json: values.json === true,
    peers: peersOptions(values),
  };
}

function databaseOf(command: string | undefined, { database, connect, nodes, help }: Values): string {
  if (command !== "fence") {
    if (database !== undefined) throw new UsageError("--database is for fence alone");
    return "";
  }
  if (connect !== undefined || nodes !== undefined)
    throw new UsageError("fence uses no ZooKeeper: --connect and --nodes are not for it");
  const ofPostgres = /^postgres(ql)?:\/\//.test(database ?? "") && URL.canParse(database ?? "");
  if (ofPostgres || help === true) return database ?? "";
  throw new UsageError(
    `fence needs --database postgres://user@host:port/database, not ${JSON.stringify(database ?? "")}`,
  );
}

function peersOptions(values: Values): Options["peers"] {
  const { quick = false, write = false, targets: targeted = false } = values;
  if (quick && write)
    throw new UsageError("--quick measures nothing that could be written: leave --write out");
  return {
    backends: several("--backend", values.backend, backends),
    names: several("--peers", values.peers, peerNames, targeted ? targetPeers : peerNames),
    workloads: several(
      "--workloads",
      values.workloads,
      workloadNames,
      targeted ? targetNames : workloadNames,
    ),
    rounds: count("--rounds", values.rounds ?? (quick ? "1" : "5"), 100),
    quick,
    targets: targeted,
    write,
    from: values.from?.split(",") ?? [],
  };
}

function several<T extends string>(
  option: string,
  given: string | undefined,
  known: readonly T[],
  byDefault: readonly string[] = known,
): T[] {
  const names = given?.split(",") ?? byDefault;
  return names.map((name) => {
    const found = known.find((each) => each === name);
    if (found === undefined) throw new UsageError(`${option}: there is no ${name}, only ${known.join(", ")}`);
    return found;
  });
}

type Values = ReturnType<typeof parse>["values"];

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        nodes: { type: "string" },
        connect: { type: "string" },
        database: { type: "string" },
        pairs: { type: "string" },
        holds: { type: "string" },
        waiters: { type: "string" },
        "session-timeout": { type: "string" },
        "in-flight": { type: "string" },
        znodes: { type: "string" },
        sessions: { type: "string" },
        locks: { type: "string" },
        others: { type: "string" },
        streams: { type: "string" },
        history: { type: "string" },
        users: { type: "string" },
        changes: { type: "string" },
        phase: { type: "string" },
        "long-hold": { type: "string" },
        backend: { type: "string" },
        peers: { type: "string" },
        workloads: { type: "string" },
        rounds: { type: "string" },
        quick: { type: "boolean" },
        targets: { type: "boolean" },
        write: { type: "boolean" },
        from: { type: "string" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function defaultWaiters(command: string | undefined): string {
  if (command === "heartbeats") return "2000";
  return command === "herd" || command === "redis" ? "200" : "1000";
}

function defaultPairs(command: string | undefined): string {
  if (command === "embedded") return "100000";
  return command === "redis" || command === "fence" ? "20000" : "200000";
}

const commands: readonly Command[] = [
  "pairs",
  "memory",
  "embedded",
  "herd",
  "redis",
  "heartbeats",
  "fence",
  "dashboard",
  "peers",
];

function commandOf(name: string | undefined): Command {
  const known = commands.find((each) => each === name);
  if (known !== undefined) return known;
  throw new UsageError(name === undefined ? "a command is missing" : `there is no command ${name}`);
}

function count(option: string, text: string, most: number, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(
    `${option} takes a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`,
  );
}
