import { join } from "node:path";
import { parseArgs } from "node:util";
import { judge } from "../checkers/judge.js";
import { onSignals } from "../cli/signals.js";
import { exitHelp, exits, UsageError } from "../cli/usage.js";
import { RunClock } from "../engine/clock.js";
import { SweptFolder } from "../engine/machine/swept-folder.js";
import { ProtectedResource } from "../engine/resource.js";
import type { KeySpec, Topology } from "../engine/scenario.js";
import { startServers } from "../engine/topologies/registry.js";
import type { ServerSet } from "../engine/topologies/server-set.js";
import { WorkerProcess } from "../engine/worker-process.js";
import { historyOf } from "../history/read.js";
import type { EffectRecord, HistoryRecord } from "../history/record.js";
import { plural } from "../report/words.js";
import { pass } from "../workload/pass.js";
import type { WorkerKey } from "../workload/protocol.js";
import type { ProvidedServers } from "../workload/provides.js";
import { ProtocolCheck } from "./protocol-check.js";
import { commandProgram, describe, type Subject } from "./subject.js";

const help = `Usage: holdfast-chaos worker-test 'COMMAND' [options]

Starts a worker of yours twice beside each other, at a server of its own and without any fault, and checks each line that they write against
docs/worker-protocol.md. Each line that is wrong is shown with the reason. Each worker is stopped once for 300 ms, as faults do it.
  --seconds N        how long they work, 1 to 60; default 2
  --servers KIND     at which servers, of those that it provides: zookeeper, redis, replicated, masters; default the first

${exitHelp}
`;

/** `other` is missing, because this command cannot start such servers. */
const topologies: Readonly<Partial<Record<ProvidedServers, Topology>>> = {
  zookeeper: { kind: "zookeeper", members: 1 },
  redis: { kind: "redis" },
  replicated: { kind: "replicated", replicas: 1, sentinels: 0 },
  masters: { kind: "masters", count: 3 },
};

const readyWithinMs = 60_000;
const doneWithinMs = 15_000;
/** How long each worker is stopped: much shorter than its lease. */
const stillMs = 300;
const leaseMs = 3_000;

/** The sub-command `worker-test`. @throws UsageError, SubjectError, and the TypeError of `parseArgs` for unknown options */
export async function workerTestCommand(
  args: readonly string[],
  out: (line: string) => void,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seconds: { type: "string", default: "2" },
      servers: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    out(help);
    return exits.asExpected;
  }
  const [command, ...others] = positionals;
  if (command === undefined || others.length > 0)
    throw new UsageError("give the command line of one worker, in quotes");
  const seconds = Number(values.seconds);
  if (!(seconds >= 1 && seconds <= 60))
    throw new UsageError(`--seconds is from 1 to 60; not ${values.seconds}`);
  const folder = new SweptFolder("worker-test");
  const interrupt = onSignals(out);
  try {
    const subject = await describe(commandProgram(command), join(folder.path, "about.log"), interrupt.signal);
    const { provides } = subject;
    out(`it provides ${JSON.stringify(provides)}`);
    const servers = values.servers ?? provides.servers[0];
    const kind = provides.servers.find((each) => each === servers);
    if (kind === undefined)
      throw new UsageError(`--servers is one that the worker provides: ${provides.servers.join(", ")}`);
    const topology = topologies[kind];
    if (topology === undefined) throw new UsageError(`worker-test can start no servers of kind ${kind}`);
    const set = await startServers(topology);
    try {
      return await examine(subject, set, seconds * 1_000, folder.path, interrupt.signal, out);
    } finally {
      await set.close();
    }
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
    return interrupt.exitCode;
  } finally {
    interrupt.dispose();
    await folder.remove();
  }
}

async function examine(
  { program, provides }: Subject,
  set: ServerSet,
  workMs: number,
  logFolder: string,
  signal: AbortSignal,
  out: (line: string) => void,
): Promise<number> {
  const clock = new RunClock();
  const effects: EffectRecord[] = [];
  const resource = await ProtectedResource.open({
    record: (record) => {
      effects.push({ i: 0, t: clock.now(), ...record } as EffectRecord);
      return clock.now();
    },
  });
  const spec = specOf(set.topology, provides.kinds[0] ?? "mutex");
  const key: WorkerKey = { ...spec, id: "k1", name: `chaos-worker-test-${process.pid}-k1` };
  const named = new Set<string>();
  const workers = await Promise.all(
    ["w0", "w1"].map(async (name) => {
      const p = `${name}#0`;
      const link = await set.link(name, false);
      const check = new ProtocolCheck({
        p,
        keys: [key.id],
        tokens: provides.tokens === true,
        named,
        now: () => clock.now(),
      });
      const worker = new WorkerProcess(p, program, join(logFolder, `${name}.log`), (word) =>
        check.heard(word),
      );
      worker.tell({
        do: "setup",
        setup: {
          p,
          clockBase: clock.base,
          seed: 1,
          group: {
            name: "w",
            count: 2,
            recipe: "subject",
            keys: [key.id],
            holdMs: [5, 20],
            ...(spec.kind === "semaphore"
              ? {}
              : { writes: provides.tokens === true ? "fenced" : "unfenced" }),
          },
          keys: [key],
          servers: link.addresses,
          resource: resource.address,
        },
      });
      return { p, link, check, worker };
    }),
  );
  const problems = (): string[] => workers.flatMap(({ check }) => check.problems);
  const all = async (
    test: (each: (typeof workers)[number]) => boolean,
    withinMs: number,
  ): Promise<boolean> => {
    const endMs = performance.now() + withinMs;
    while (!workers.every((each) => test(each) || !each.worker.running)) {
      if (performance.now() > endMs) return false;
      signal.throwIfAborted();
      await pass(20, signal);
    }
    return true;
  };
  const more: string[] = [];
  try {
    await all(({ check }) => check.ready, readyWithinMs);
    for (const { p, check } of workers)
      if (!check.ready) more.push(`${p}: no {"say":"ready"} within ${readyWithinMs / 1_000} s after setup`);
    if (more.length === 0) {
      for (const { check, worker } of workers) {
        check.started();
        worker.tell({ do: "start" });
      }
      await pass(workMs / 2, signal);
      for (const { check, worker } of workers) await stopFor(stillMs, worker, check);
      await pass(workMs / 2, signal);
      signal.throwIfAborted();
      for (const { check, worker } of workers) {
        check.stopped();
        worker.tell({ do: "stop" });
      }
      if (!(await all(() => false, leaseMs * 2)))
        for (const { worker } of workers) worker.tell({ do: "abort" });
      await all(() => false, doneWithinMs);
      for (const { p, check, worker } of workers) {
        if (worker.running) more.push(`${p}: it still runs ${doneWithinMs / 1_000} s after stop and abort`);
        else {
          const { code, signal: by } = await worker.exited;
          check.ended(code, by);
        }
      }
      more.push(...togetherWrong(workers, effects, key));
    }
  } finally {
    await Promise.all(workers.map(({ worker }) => worker.kill()));
    await Promise.all(workers.map(({ link }) => link.close()));
    await resource.close();
  }
  const found = [...problems(), ...more];
  const records = workers.reduce((sum, { check }) => sum + check.records.length, 0);
  const grants = workers.reduce((sum, { check }) => sum + check.grants, 0);
  for (const each of found.slice(0, 20)) out(each);
  if (found.length > 20) out(`and ${found.length - 20} more`);
  for (const { p, worker } of workers) {
    const tail = found.length > 0 ? worker.logTail() : "";
    if (tail !== "") out(`${p} wrote to standard error:\n${tail}`);
  }
  out(
    found.length === 0
      ? `it keeps to the protocol: ${plural(grants, "grant")}, ${plural(records, "record")}, ${plural(effects.length, "write")} at the resource`
      : `it does not keep to the protocol: ${plural(found.length, "finding")}`,
  );
  return found.length === 0 ? exits.asExpected : exits.violation;
}

async function stopFor(ms: number, worker: WorkerProcess, check: ProtocolCheck): Promise<void> {
  worker.signal("SIGSTOP");
  for (let tries = 0; worker.running && !worker.standsStill() && tries < 1_000; tries++) await pass(2, null);
  check.stands();
  await pass(ms, null);
  check.goesOn();
  worker.signal("SIGCONT");
}

function specOf({ kind }: Topology, provided: KeySpec["kind"]): KeySpec {
  const backend = kind === "zookeeper" ? "zookeeper" : kind === "masters" ? "redlock" : "redis";
  return { kind: provided, backend, leaseMs, ...(provided === "semaphore" ? { limit: 2 } : {}) };
}

/**
 * The problems that show only over both workers together: missing grants or writes, and two holders at once although
 * nothing was broken.
 */
function togetherWrong(
  workers: readonly { readonly p: string; readonly check: ProtocolCheck }[],
  effects: readonly EffectRecord[],
  key: WorkerKey,
): string[] {
  const wrong: string[] = [];
  for (const { p, check } of workers) {
    if (check.grants === 0) wrong.push(`${p}: no acquire was granted in the whole time`);
    if (
      check.grants > 0 &&
      key.kind !== "semaphore" &&
      !effects.some(({ hold }) => hold.startsWith(`${p}:`) || check.knows(hold))
    )
      wrong.push(`${p}: group.writes is set, and no write came to the protected resource`);
  }
  for (const { hold, p } of effects)
    if (!workers.some(({ check }) => check.knows(hold)))
      wrong.push(`${p}: a write came for hold ${hold}, which no worker was granted`);
  const { id, name: _, ...about } = key;
  const meta = { type: "meta", v: 1, run: "worker-test", seed: 1, scenario: "worker-test", t: 0 } as const;
  const records = [
    { ...meta, keys: { [id]: about }, versions: {}, capabilities: [] },
    ...[...workers.flatMap(({ check }) => check.records), ...effects].sort((a, b) => a.t - b.t),
  ].map((record, i) => ({ ...record, i }) as HistoryRecord);
  for (const { checker, verdict, examples } of judge(historyOf(records), {
    only: ["belief", "lost-update"],
  })) {
    if (verdict === "violation") {
      wrong.push(
        `${checker}: ${examples[0]?.text}; nothing was broken, so the lock is wrong, or records are stamped too early or too late`,
      );
    }
  }
  return wrong;
}
