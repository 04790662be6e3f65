import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CheckerName } from "../checkers/judge.js";
import type { Capability } from "../engine/capability.js";
import { numbered, withFaults } from "../engine/fewer-faults.js";
import { asPlanned, drawPlan, type PlanFile, readPlan } from "../engine/plan.js";
import { parseCapability } from "../engine/probe/doctor-command.js";
import type { Scenario } from "../engine/scenario.js";
import { catalogue } from "../scenarios/catalogue.js";
import { defineScenarios, importScenarios } from "../scenarios/define-scenarios.js";
import { type ServiceWish, serviceScenarios } from "../service/service.js";
import { readExpected } from "../subject/judged-with.js";
import { clientProgram, commandProgram, type SubjectProgram } from "../subject/subject.js";
import { chooseScenarios } from "./choose.js";
import { exitHelp, UsageError } from "./usage.js";

export const runHelp: string = `Usage: holdfast-chaos run [ID..] [options]
       holdfast-chaos run ./scenarios.mjs [ID..] [options]
       holdfast-chaos run --service 'COMMAND' --key NAME --lease-ms N [kill] [pause] [cut] [reset] [options]

Runs scenarios on servers of its own and writes results.json, junit.xml, summary.md and, for each scenario that is kept,
history.jsonl, plan.json, timeline.html and the logs. Without ids: those of the tag. A file has scenarios of your own as its
default export (defineScenarios); without ids all of it is run.
  --client FILE              judges your client in place of ours: a module whose default export is a recipe (defineRecipe).
                             Nothing is expected of it, each verdict is reported, and what it does not provide is "not judged"
  --worker 'COMMAND'         the same with a worker in any language, as docs/worker-protocol.md has it (see worker-test)
  --expect NAME,..           with --client or --worker: checkers that must pass, or no-damage for effect and lost-update;
                             exit 1 when one convicts
  --service 'COMMAND'        judges a service of yours, by @holdfast/chaos/probe in its code: the instance that holds is killed,
                             stands still, is cut off, has its connections reset
  --key NAME                 with --service: a lock, as the service names it to the probe; the first one is aimed at
  --lease-ms N               with --service: the lease or session time-out that it uses
  --instances N              with --service: how many of it run; default 3
  --times N                  with --service: how often each fault is done; default 2
  --servers redis|zookeeper  with --service: default redis
  --env NAME=VALUE           with --service: for each instance; {redis}, {zookeeper}, {port}, {host} and {n} are filled in, as in
                             COMMAND and --ready
  --ready URL                with --service: answers 200 when an instance serves; default: when its probe is loaded
  --load FILE                with --service: a module whose default export ({ urls, signal }) calls the service until then
  --tells-loss               with --service: it gives lost to the probe with each grant; else lost-notice is "not judged"
  --tag smoke|full|nightly   default full
  --seed N                   draws plans and workloads; default a fresh one, which is printed
  --seconds N                how long the scenarios whose faults are drawn run: 60 (default) to 600
  --plan FILE                a plan.json: runs that scenario again with that seed and those faults
  --faults N,M..             of one scenario, only these faults of its plan, by their numbers in it
  --out DIR                  default ./chaos-results/<time>-<seed>
  --keep always|failed       whose histories stay; default failed
  --time-budget 10m          begins no scenario after that (s, m, h)
  --jobs N                   topologies at a time; default 1, and more need a core each
  --network auto|netns|userns|proxy   how servers are cut from each other; default auto; proxy: only what needs no namespaces
  --require CAP,..           exit 3 when the machine lacks one of these (see doctor)
  --shrink, --no-shrink      looks for the smallest plan and crew that still show an unexpected violation; default for scenarios
                             whose faults are drawn
  --shrink-budget 10m        begins no run for that after it (s, m, h)

${exitHelp}
`;

export type Network = "auto" | "netns" | "userns" | "proxy";

export interface RunArguments {
  readonly scenarios: readonly Scenario[];
  readonly seed: number;
  /** The plan that is run for the one scenario instead of a drawn one. */
  readonly plan: Pick<PlanFile, "scenario" | "plan"> | null;
  readonly out: string;
  readonly keep: "always" | "failed";
  readonly timeBudgetMs: number | undefined;
  readonly jobs: number;
  readonly network: Network;
  readonly require: readonly Capability[];
  /** The scenarios whose unexpected violations are shrunk: those with drawn faults, all, or none. */
  readonly shrink: "drawn" | "all" | "none";
  readonly shrinkBudgetMs: number;
  /** The arguments that identify the run, without scenario and faults: `--seed 7 --seconds 90`, or `--plan FILE`. */
  readonly which: string;
  /** The numbers of `--faults`. */
  readonly faults: readonly number[] | null;
  /** Whether scenarios were named one by one. A run that skips all of them has then not done what was asked. */
  readonly named: boolean;
  /** The client that replaces the clients of the scenarios; `null` if there is none. */
  readonly subject: SubjectProgram | null;
  /** The user's service that is judged; `null` if there is none. */
  readonly service: ServiceWish | null;
  /** The checkers that must pass for a subject. */
  readonly expected: readonly CheckerName[];
}

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      client: { type: "string" },
      worker: { type: "string" },
      expect: { type: "string", multiple: true },
      service: { type: "string" },
      instances: { type: "string", default: "3" },
      servers: { type: "string", default: "redis" },
      key: { type: "string", multiple: true },
      "lease-ms": { type: "string" },
      times: { type: "string", default: "2" },
      env: { type: "string", multiple: true },
      ready: { type: "string" },
      load: { type: "string" },
      "tells-loss": { type: "boolean" },
      tag: { type: "string" },
      seed: { type: "string" },
      plan: { type: "string" },
      out: { type: "string" },
      keep: { type: "string", default: "failed" },
      "time-budget": { type: "string" },
      jobs: { type: "string", default: "1" },
      network: { type: "string", default: "auto" },
      require: { type: "string", multiple: true },
      seconds: { type: "string" },
      faults: { type: "string" },
      shrink: { type: "boolean" },
      "shrink-budget": { type: "string", default: "10m" },
      help: { type: "boolean", short: "h" },
    },
    allowNegative: true,
  });

const isFile = (text: string): boolean => /\.m?js$/.test(text);

/**
 * The scenarios of the files that the arguments name; `null` if they name none.
 * @throws the same as `importScenarios`
 */
export async function ownScenarios(args: readonly string[]): Promise<readonly Scenario[] | null> {
  const files = parse(args).positionals.filter(isFile);
  if (files.length === 0) return null;
  return defineScenarios((await Promise.all(files.map(importScenarios))).flat());
}

/**
 * Reads the arguments. Returns `null` if help was asked for. `own`: the scenarios to choose from instead of the
 * catalogue.
 * @throws UsageError, RangeError, and the TypeError of `parseArgs` for unknown options.
 */
export function readRunArguments(
  args: readonly string[],
  freshSeed: () => number,
  own: readonly Scenario[] | null = null,
): RunArguments | null {
  const { values, positionals } = parse(args);
  if (values.help === true) return null;
  const ids = positionals.filter((each) => !isFile(each));
  const file = values.plan === undefined ? null : readPlan(values.plan);
  if (
    file !== null &&
    (ids.length > 0 || [values.tag, values.seed, values.seconds].some((each) => each !== undefined))
  ) {
    throw new UsageError(
      "--plan says scenario, seed and time: give no ids, --tag, --seed or --seconds beside it",
    );
  }
  const service = serviceOf(values);
  const from = service === null ? own : serviceScenarios(service);
  const chosen = chooseScenarios(
    file === null ? ids : [file.scenario],
    values.tag,
    from === null ? "full" : null,
    from ?? catalogue,
  );
  if (chosen.length === 0) throw new UsageError(`no scenario has the tag ${values.tag}`);
  const subject = subjectOf(values);
  if (service !== null && (subject !== null || own !== null))
    throw new UsageError("--service has scenarios of its own: give no --client, --worker or file beside it");
  if (subject === null && values.expect !== undefined)
    throw new UsageError("--expect is for --client or --worker: a scenario says itself what it expects");
  if (subject !== null && values.shrink === true)
    throw new UsageError("--shrink looks for what convicts the clients of this package; not one of yours");
  const seed = file?.seed ?? (values.seed === undefined ? freshSeed() : whole("--seed", values.seed, 0));
  const timed = file === null ? lasting(chosen, values.seconds) : chosen.map((each) => asPlanned(each, file));
  const faults = values.faults?.split(",").map((each) => whole("--faults", each, 1)) ?? null;
  const { scenarios, plan } = part(timed, seed, file, faults);
  return {
    scenarios,
    seed,
    plan,
    out: resolve(values.out ?? join("chaos-results", `${stamp()}-${seed}`)),
    keep: oneOf("--keep", values.keep, ["always", "failed"]),
    timeBudgetMs:
      values["time-budget"] === undefined ? undefined : duration("--time-budget", values["time-budget"]),
    jobs: whole("--jobs", values.jobs, 1),
    network: oneOf("--network", values.network, ["auto", "netns", "userns", "proxy"]),
    require: (values.require ?? []).flatMap((list) => list.split(",")).map(parseCapability),
    shrink:
      subject !== null || service !== null || values.shrink === false
        ? "none"
        : values.shrink === true
          ? "all"
          : "drawn",
    shrinkBudgetMs: duration("--shrink-budget", values["shrink-budget"]),
    which: whichOf({ ...values, seed: String(seed) }, positionals.filter(isFile)),
    faults,
    named: ids.length > 0 || own !== null || file !== null || subject !== null || service !== null,
    subject,
    service,
    expected: readExpected((values.expect ?? []).flatMap((list) => list.split(","))),
  };
}

function serviceOf(values: ReturnType<typeof parse>["values"]): ServiceWish | null {
  const { service, key = [], env = [], ready, load } = values;
  if (service === undefined) {
    const alone = ofServices.slice(4).find((name) => values[name] !== undefined);
    if (alone !== undefined) throw new UsageError(`--${alone} is for --service`);
    return null;
  }
  if (key.length === 0)
    throw new UsageError("--service needs --key: the name that it gives to probe.acquiring");
  const wrong = key.find((each) => !/^[A-Za-z0-9_.:-]+$/.test(each));
  if (wrong !== undefined)
    throw new UsageError(`--key is of letters, digits and _.:-; not ${JSON.stringify(wrong)}`);
  if (values["lease-ms"] === undefined)
    throw new UsageError(
      "--service needs --lease-ms: faults last longer than the lease that the service uses",
    );
  return {
    command: service,
    instances: whole("--instances", values.instances, 2),
    servers: oneOf("--servers", values.servers, ["redis", "zookeeper"]),
    keys: key,
    leaseMs: whole("--lease-ms", values["lease-ms"], 200),
    times: whole("--times", values.times, 1),
    env: Object.fromEntries(env.map(variable)),
    ready: ready ?? null,
    load: load ?? null,
    tellsLoss: values["tells-loss"] === true,
  };
}

function variable(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--env is NAME=VALUE; not ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The arguments that identify the run, without scenario and faults. */
function whichOf(values: ReturnType<typeof parse>["values"], files: readonly string[]): string {
  const { plan } = values;
  const repeated = plan === undefined ? (["seed", "seconds"] as const) : (["plan"] as const);
  const names = [
    ...repeated,
    "client",
    "worker",
    "expect",
    ...(values.service === undefined ? [] : ofServices),
  ] as const;
  const options = names.flatMap((name) => [values[name] || []].flat().map((value) => option(name, value)));
  return [...files, ...options].join(" ");
}

const option = (name: string, value: string | boolean): string =>
  value === true ? `--${name}` : `--${name} ${quoted(String(value))}`;

const quoted = (text: string): string =>
  /^[\w./:,=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The options that describe a service. The last six have no meaning without `--service`. */
const ofServices = [
  "service",
  "instances",
  "servers",
  "times",
  "key",
  "lease-ms",
  "env",
  "ready",
  "load",
  "tells-loss",
] as const;

function subjectOf({ client, worker }: { client?: string; worker?: string }): SubjectProgram | null {
  if (client !== undefined && worker !== undefined)
    throw new UsageError("give --client or --worker, not both");
  if (client !== undefined) return clientProgram(client);
  return worker === undefined ? null : commandProgram(worker);
}

/** The scenarios with this running time. Only scenarios whose time is free accept one. */
function lasting(scenarios: readonly Scenario[], seconds: string | undefined): readonly Scenario[] {
  if (seconds === undefined) return scenarios;
  const runMs = whole("--seconds", seconds, 1) * 1_000;
  const fixed = scenarios.filter(({ lastsMs }) => lastsMs === undefined).map(({ id }) => id);
  if (fixed.length > 0)
    throw new UsageError(`--seconds is for scenarios whose faults are drawn; not ${fixed.join(", ")}`);
  for (const { id, lastsMs: [least, most] = [0, 0] } of scenarios) {
    if (runMs < least || runMs > most) {
      throw new UsageError(`--seconds of ${id} is from ${least / 1_000} to ${most / 1_000}; not ${seconds}`);
    }
  }
  return scenarios.map((scenario) => ({ ...scenario, runMs }));
}

/** The one scenario and its plan, reduced to the faults that `--faults` names. */
function part(
  scenarios: readonly Scenario[],
  seed: number,
  file: PlanFile | null,
  faults: readonly number[] | null,
): Pick<RunArguments, "scenarios" | "plan"> {
  if (faults === null) return { scenarios, plan: file };
  const [scenario, ...others] = scenarios;
  if (scenario === undefined || others.length > 0) throw new UsageError("--faults is for one scenario");
  const fewer = withFaults(scenario, numbered(file?.plan ?? drawPlan(scenario, seed), faults));
  return { scenarios: [fewer.scenario], plan: { scenario: scenario.id, plan: fewer.plan } };
}

function whole(what: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new UsageError(`${what} is a whole number from ${least}; not ${JSON.stringify(text)}`);
  }
  return value;
}

function oneOf<T extends string>(what: string, given: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === given);
  if (choice === undefined)
    throw new UsageError(`${what} is ${choices.join(" or ")}; not ${JSON.stringify(given)}`);
  return choice;
}

function duration(what: string, text: string): number {
  const match = /^(\d+)(s|m|h)$/.exec(text);
  if (match === null) throw new UsageError(`${what} is like 90s, 10m or 1h; not ${JSON.stringify(text)}`);
  return Number(match[1]) * { s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as "s" | "m" | "h"];
}

const stamp = (): string => new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
