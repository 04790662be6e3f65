import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Capability } from "../engine/capability.js";
import { type PlanFile, readPlan } from "../engine/plan.js";
import { parseCapability } from "../engine/probe/doctor-command.js";
import type { Scenario } from "../engine/scenario.js";
import { chooseScenarios } from "./choose.js";
import { UsageError } from "./usage.js";

export const runHelp = `Usage: holdfast-chaos run [ID..] [options]

Runs scenarios on servers of its own and writes results.json, junit.xml, summary.md and, for each scenario that is kept,
history.jsonl, plan.json, timeline.html and the logs. Without ids: those of the tag.
  --tag smoke|full|nightly   default full
  --seed N                   draws plans and workloads; default a fresh one, which is printed
  --plan FILE                a plan.json: runs that scenario again with that seed and those faults
  --out DIR                  default ./chaos-results/<time>-<seed>
  --keep always|failed       whose histories stay; default failed
  --time-budget 10m          begins no scenario after that (s, m, h)
  --jobs N                   topologies at a time; default 1, and more need a core each
  --network auto|netns|userns|proxy   how servers are cut from each other; default auto; proxy: only what needs no namespaces
  --require CAP,..           exit 3 when the machine lacks one of these (see doctor)
  --shrink                   looks for the smallest plan and crew that still show an unexpected violation

Exit: 0 all as expected; 1 a violation, or an expected one that was not shown; 2 too little happened to tell; 3 a required
capability is missing; 254 wrong arguments; 255 the runner itself failed.
`;

export type Network = "auto" | "netns" | "userns" | "proxy";

export interface RunArguments {
  readonly scenarios: readonly Scenario[];
  readonly seed: number;
  readonly plan: PlanFile | null;
  readonly out: string;
  readonly keep: "always" | "failed";
  readonly timeBudgetMs: number | undefined;
  readonly jobs: number;
  readonly network: Network;
  readonly require: readonly Capability[];
  readonly shrink: boolean;
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
      shrink: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return null;
  const plan = values.plan === undefined ? null : readPlan(values.plan);
  if (plan !== null && (positionals.length > 0 || values.tag !== undefined || values.seed !== undefined)) {
    throw new UsageError("--plan says the scenario and the seed: give no ids, --tag or --seed beside it");
  }
  const scenarios = chooseScenarios(plan === null ? positionals : [plan.scenario], values.tag, "full");
  const seed = plan?.seed ?? (values.seed === undefined ? freshSeed() : whole("--seed", values.seed, 0));
  return {
    scenarios,
    seed,
    plan,
    out: resolve(values.out ?? join("chaos-results", `${stamp()}-${seed}`)),
    keep: oneOf("--keep", values.keep, ["always", "failed"]),
    timeBudgetMs: values["time-budget"] === undefined ? undefined : duration(values["time-budget"]),
    jobs: whole("--jobs", values.jobs, 1),
    network: oneOf("--network", values.network, ["auto", "netns", "userns", "proxy"]),
    require: (values.require ?? []).flatMap((list) => list.split(",")).map(parseCapability),
    shrink: values.shrink === true,
  };
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

function duration(text: string): number {
  const match = /^(\d+)(s|m|h)$/.exec(text);
  if (match === null)
    throw new UsageError(`--time-budget is like 90s, 10m or 1h; not ${JSON.stringify(text)}`);
  return Number(match[1]) * { s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as "s" | "m" | "h"];
}

const stamp = (): string => new Date().toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-");
