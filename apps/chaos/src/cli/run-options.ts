import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Capability } from "../engine/capability.js";
import { numbered, withFaults } from "../engine/fewer-faults.js";
import { asPlanned, drawPlan, type PlanFile, readPlan } from "../engine/plan.js";
import { parseCapability } from "../engine/probe/doctor-command.js";
import type { Scenario } from "../engine/scenario.js";
import { chooseScenarios } from "./choose.js";
import { UsageError } from "./usage.js";

export const runHelp = `Usage: holdfast-chaos run [ID..] [options]

Runs scenarios on servers of its own and writes results.json, junit.xml, summary.md and, for each scenario that is kept,
history.jsonl, plan.json, timeline.html and the logs. Without ids: those of the tag.
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

Exit: 0 all as expected; 1 a violation, or an expected one that was not shown; 2 too little happened to tell; 3 a required
capability is missing; 254 wrong arguments; 255 the runner itself failed.
`;

export type Network = "auto" | "netns" | "userns" | "proxy";

export interface RunArguments {
  readonly scenarios: readonly Scenario[];
  readonly seed: number;
  /** What is run of the one scenario instead of what is drawn for it. */
  readonly plan: Pick<PlanFile, "scenario" | "plan"> | null;
  readonly out: string;
  readonly keep: "always" | "failed";
  readonly timeBudgetMs: number | undefined;
  readonly jobs: number;
  readonly network: Network;
  readonly require: readonly Capability[];
  /** Whose unexpected violations are shrunk: scenarios whose faults are drawn, all, none. */
  readonly shrink: "drawn" | "all" | "none";
  readonly shrinkBudgetMs: number;
  /** What of the arguments says which run it is, but for scenario and faults: `--seed 7 --seconds 90`, or `--plan FILE`. */
  readonly which: string;
  /** The numbers of `--faults`. */
  readonly faults: readonly number[] | null;
}

/** `null`: help was asked for. @throws UsageError, RangeError, and the TypeError of `parseArgs` for what it does not know. */
export function readRunArguments(args: readonly string[], freshSeed: () => number): RunArguments | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
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
  if (values.help === true) return null;
  const file = values.plan === undefined ? null : readPlan(values.plan);
  if (
    file !== null &&
    (positionals.length > 0 || [values.tag, values.seed, values.seconds].some((each) => each !== undefined))
  ) {
    throw new UsageError(
      "--plan says scenario, seed and time: give no ids, --tag, --seed or --seconds beside it",
    );
  }
  const chosen = chooseScenarios(file === null ? positionals : [file.scenario], values.tag, "full");
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
    shrink: values.shrink === undefined ? "drawn" : values.shrink ? "all" : "none",
    shrinkBudgetMs: duration("--shrink-budget", values["shrink-budget"]),
    which:
      values.plan === undefined
        ? `--seed ${seed}${values.seconds === undefined ? "" : ` --seconds ${values.seconds}`}`
        : `--plan ${values.plan}`,
    faults,
  };
}

/** Scenarios whose time is free, for so long. */
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

/** What `--faults` leaves of the plan of one scenario. */
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
