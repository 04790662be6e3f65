import { randomBytes, randomInt } from "node:crypto";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseConnectString } from "@holdfast/zk-recipes/internal";
import { exitOf } from "../cli/run-command.js";
import { onSignals } from "../cli/signals.js";
import { exits, UsageError } from "../cli/usage.js";
import type { OutcomeKind } from "../engine/outcome.js";
import { notRun } from "../engine/run.js";
import { runScenario } from "../engine/run-scenario.js";
import type { ServerSet } from "../engine/topologies/server-set.js";
import { readHistory } from "../history/read.js";
import { ConsoleReporter } from "../report/console.js";
import { writeReports } from "../report/write-reports.js";
import type { AttackedServers } from "../workload/addresses.js";
import { type AttackName, attackNames, attackScenario, attacks, faultsOf } from "./attacks.js";
import { openForeignRedis, pageOf } from "./foreign-redis.js";
import { openForeignZooKeeper } from "./foreign-zookeeper.js";
import { masked, parseTarget } from "./target.js";
import { accessOptions, readAccess } from "./target-access.js";

const help = `Usage: holdfast-chaos attack --target URL --fault NAME --i-own-this [options]

Runs workers of its own at a lock of its own in servers that you own, breaks the workers, and judges what happened. Nothing is done to the
servers, to their data or to other clients. The load is that of a few clients at one lock, and on Redis, at the end, SCAN over the names of
all keys of the database, ${pageOf} at a time: that is how its own are found.
  --target zk://h1:p1,h2:p2/path               ZooKeeper: makes a node below that path, which must be there, and deletes it at the end;
                                               SIGKILL or a second Ctrl-C leaves it
  --target redis://h:p/db                      one Redis: uses keys with a name of its own, and deletes them at the end; SIGKILL or
                                               a second Ctrl-C leaves them, and they go by themselves within an hour
  --target redis+sentinel://h1:p1,h2:p2/master the master that these sentinels call by that name
  --target redis+cluster://h1:p1,h2:p2         a Redis Cluster, by any of its nodes
                                               user:password@ in front of the hosts logs in (ZooKeeper: digest; :password@ is Redis's default
                                               user); zks://, rediss://, rediss+sentinel:// and rediss+cluster:// connect by TLS
  --sentinel-access USER:PASSWORD              at the sentinels, where they want a password too
  --ca FILE, --cert FILE, --key FILE           PEM: the authority to trust, and a certificate and key of the clients
  --server-name NAME                           what the servers' certificates are for, where it is none of the hosts
  --fault NAME                                 ${attackNames.join(", ")}
  --i-own-this                                 you may do this to those servers; without it nothing is done, and you are told what would be
  --times N                                    how often, 1 to 100; default 3. A holder that lets go in the moment in which it is hit does not count
  --workers N                                  2 to 32; default 4
  --seed N                                     default a fresh one, which is printed
  --out DIR                                    reports; default ./chaos-results/attack-<name>

The NAMEs:
${attackNames.map((name) => `  ${name.padEnd(13)} ${attacks[name].what}${attacks[name].of === "zookeeper" ? " (zk:// only)" : ""}`).join("\n")}

Exit: as of run; 254 also for a target that cannot be reached, and 255 where something is left there.
`;

interface Wanted {
  readonly target: AttackedServers;
  readonly text: string;
  readonly fault: AttackName;
  readonly consent: boolean;
  readonly times: number;
  readonly workers: number;
  readonly seed: number;
  readonly out: string;
  /** The name of its locks and nodes. No other program uses this name. */
  readonly name: string;
  /** The other options that the target needs, as they were given. */
  readonly access: readonly string[];
}

/** The sub-command `attack`. @throws UsageError, and the TypeError of `parseArgs` for unknown options */
export async function attackCommand(args: readonly string[], out: (line: string) => void): Promise<number> {
  const wanted = read(args);
  if (wanted === null) {
    out(help);
    return exits.asExpected;
  }
  for (const line of intentions(wanted)) out(line);
  if (!wanted.consent) {
    out("nothing was done: say --i-own-this if that cluster is yours and this may be done to it");
    return exits.usage;
  }
  const interrupt = onSignals(out);
  try {
    return exitOf(await perform(wanted, interrupt.signal, out));
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
    return interrupt.exitCode;
  } finally {
    interrupt.dispose();
  }
}

function read(args: readonly string[]): Wanted | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      target: { type: "string" },
      fault: { type: "string" },
      "i-own-this": { type: "boolean" },
      times: { type: "string", default: "3" },
      workers: { type: "string", default: "4" },
      seed: { type: "string" },
      out: { type: "string" },
      ...accessOptions,
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) return null;
  const { target: text, fault: named } = values;
  if (text === undefined || named === undefined) throw new UsageError("--target and --fault are needed");
  const target = parseTarget(text, readAccess(values));
  const fault = attackNames.find((each) => each === named);
  if (fault === undefined)
    throw new UsageError(`--fault is ${attackNames.join(" or ")}; not ${JSON.stringify(named)}`);
  if (attacks[fault].of === "zookeeper" && target.backend !== "zookeeper") {
    throw new UsageError(`${fault} needs a target of ZooKeeper: a Redis has no sessions`);
  }
  if (attacks[fault].of === "zookeeper" && target.tls !== null) {
    throw new UsageError(`${fault} reads the session from what passes, which TLS hides: it needs zk://`);
  }
  const name = `holdfast-chaos-attack-${randomBytes(6).toString("hex")}`;
  return {
    target,
    text: masked(text),
    fault,
    consent: values["i-own-this"] === true,
    times: within("--times", values.times, 1, 100),
    workers: within("--workers", values.workers, 2, 32),
    seed:
      values.seed === undefined
        ? randomInt(1, 2 ** 31)
        : within("--seed", values.seed, 0, Number.MAX_SAFE_INTEGER),
    out: resolve(values.out ?? join("chaos-results", name)),
    name,
    access: (["ca", "cert", "key", "server-name"] as const).flatMap((each) =>
      values[each] === undefined ? [] : [`--${each} ${values[each]}`],
    ),
  };
}

function intentions({ target, text, fault, times, workers, name }: Wanted): string[] {
  const where =
    target.backend === "zookeeper"
      ? `the node ${parseConnectString(target.options.connect ?? "").chroot}/${name}, which is deleted at the end`
      : `keys with ${name} in their names, which are deleted at the end`;
  return [
    `target   ${text}`,
    `workers  ${workers} of its own contend for one lock, in ${where}`,
    `fault    ${fault}, ${times} times: ${attacks[fault].what}`,
    "spared   the servers, their data, and all other clients",
  ];
}

/** Runs the attack. Resolves with its outcome, and with a second, worse one if something is left at the target. */
async function perform(
  wanted: Wanted,
  signal: AbortSignal,
  out: (line: string) => void,
): Promise<OutcomeKind[]> {
  const { target, text, access, fault, times, workers, seed, out: folder, name } = wanted;
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const console = new ConsoleReporter(process.stdout);
  const scenario = attackScenario(name, target, fault, times, workers);
  out(`seed ${seed}, reports in ${folder}`);
  const own = join(folder, name);
  const set = await opened(target, text, name, signal);
  const left: OutcomeKind[] = [];
  const outcome = await runScenario(scenario, {
    seed,
    folder: own,
    set,
    // The run knows only this fault, whatever a plan says.
    faults: faultsOf(fault),
    signal,
    onProgress: ({ phase, ...figures }) => console.phase(name, phase, figures),
  })
    .catch((error: Error) => {
      signal.throwIfAborted();
      // The target may have become unreachable meanwhile.
      return notRun(scenario, { seed, capabilities: [] }, "broken", error.message);
    })
    .finally(async () => {
      await set.close().catch((error: Error) => {
        out(error.message);
        left.push("broken");
      });
    });
  const again = [
    `holdfast-chaos attack --target ${text}`,
    ...access,
    `--fault ${fault} --times ${times} --workers ${workers} --seed ${seed} --i-own-this`,
  ].join(" ");
  const history = outcome.folder === null ? undefined : await readHistory(join(own, "history.jsonl"));
  console.done(outcome, history, again);
  const tookMs = Math.round(performance.now() - startedMs);
  for (const problem of await writeReports({ seed, startedAt, tookMs, outcomes: [outcome] }, folder))
    out(problem);
  return [outcome.outcome, ...left];
}

/** @throws UsageError if the target cannot be reached, or does not let the attack in */
async function opened(
  target: AttackedServers,
  text: string,
  name: string,
  signal: AbortSignal,
): Promise<ServerSet> {
  try {
    return await (target.backend === "zookeeper"
      ? openForeignZooKeeper(target, name, signal)
      : openForeignRedis(target, name, signal));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--target ${text}: it cannot be used: ${(error as Error).message}`);
  }
}

function within(what: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < least || value > most) {
    throw new UsageError(`${what} is a whole number from ${least} to ${most}; not ${JSON.stringify(text)}`);
  }
  return value;
}
