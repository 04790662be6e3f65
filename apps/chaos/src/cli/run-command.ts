import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Capability } from "../engine/capability.js";
import { needsOf } from "../engine/needs.js";
import { allowedNamespaces, enterNamespaces, insideNamespaces } from "../engine/network/index.js";
import type { OutcomeKind, RunOutcome } from "../engine/outcome.js";
import { capabilities as allCapabilities, probe } from "../engine/probe/probe.js";
import type { ProgramsByRecipe } from "../engine/programs.js";
import { notRun, run } from "../engine/run.js";
import { readHistory } from "../history/read.js";
import { ConsoleReporter } from "../report/console.js";
import { RunReports } from "../report/run-reports.js";
import { writeReports } from "../report/write-reports.js";
import { servicePrograms } from "../service/service.js";
import { judgedWith, subjectRecipe } from "../subject/judged-with.js";
import { describe } from "../subject/subject.js";
import { type Network, ownScenarios, type RunArguments, readRunArguments, runHelp } from "./run-options.js";
import { againOf, shrinkFound } from "./shrink-found.js";
import { onSignals } from "./signals.js";
import { exits, UsageError } from "./usage.js";

/** The sub-command `run`. Throws for wrong arguments, and when the runner itself fails. */
export async function runCommand(args: readonly string[], out: (line: string) => void): Promise<number> {
  const wanted = readRunArguments(args, () => randomInt(1, 2 ** 31), await ownScenarios(args));
  if (wanted === null) {
    out(runHelp);
    return exits.asExpected;
  }
  const kind = await namespacesFor(wanted);
  // Everything else happens inside the namespaces, and vanishes with them.
  if (kind !== null) return await enterNamespaces(kind);
  const there = await capabilitiesFor(wanted);
  const lacking = wanted.require.filter((each) => !there.includes(each));
  if (lacking.length > 0) {
    out(`required, but missing: ${lacking.join(", ")} (holdfast-chaos doctor says more)`);
    return exits.missing;
  }
  const interrupt = onSignals(out);
  try {
    const { outcomes } = await perform(await judging(wanted, interrupt.signal), there, interrupt.signal, out);
    const kinds = outcomes.map((each) => each.outcome);
    return wanted.named && kinds.every((kind) => kind === "skipped") ? exits.missing : exitOf(kinds);
  } catch (error) {
    if (interrupt.exitCode === null) throw error;
    return interrupt.exitCode;
  } finally {
    interrupt.dispose();
  }
}

/** A run with the programs of the subject or service in place of our clients, if there is one. */
interface Judging extends RunArguments {
  readonly programs: ProgramsByRecipe;
}

async function judging(wanted: RunArguments, signal: AbortSignal): Promise<Judging> {
  mkdirSync(wanted.out, { recursive: true });
  if (wanted.service !== null) return { ...wanted, programs: await servicePrograms(wanted.service) };
  if (wanted.subject === null) return { ...wanted, programs: {} };
  const { name, program, provides } = await describe(wanted.subject, join(wanted.out, "about.log"), signal);
  const scenarios = wanted.scenarios.map((each) => judgedWith(each, name, provides, wanted.expected));
  for (const checker of wanted.expected) {
    const reasons = scenarios.map(({ subject }) => subject?.notJudged[checker]);
    if (reasons.every((why) => why !== undefined))
      throw new UsageError(`--expect ${checker} cannot be judged for ${name}: ${reasons[0]}`);
  }
  return {
    ...wanted,
    scenarios,
    programs: { [subjectRecipe]: async () => program },
  };
}

async function perform(
  wanted: Judging,
  capabilities: readonly Capability[],
  signal: AbortSignal,
  out: (line: string) => void,
): Promise<RunOutcome> {
  const { plan, timeBudgetMs, scenarios, seed } = wanted;
  out(`seed ${seed}, ${scenarios.length} scenarios, reports in ${wanted.out}`);
  const console = new ConsoleReporter(process.stdout, { scenarios });
  const unfinished = scenarios.map((each) =>
    notRun(each, { seed, capabilities }, "unknown", "not finished: the run was ended before"),
  );
  const reports = new RunReports(wanted.out, seed, unfinished);
  signal.addEventListener("abort", () => {
    out(
      `${reports.finished} of ${scenarios.length} scenarios were finished; their reports are in ${wanted.out}`,
    );
  });
  const outcome = await run({
    scenarios,
    seed,
    folder: wanted.out,
    capabilities,
    jobs: wanted.jobs,
    keep: wanted.keep,
    signal,
    programs: wanted.programs,
    ...(timeBudgetMs === undefined ? {} : { timeBudgetMs }),
    ...(plan === null ? {} : { plans: { [plan.scenario]: plan.plan } }),
    onProgress: (id, { phase, ...figures }) => console.phase(id, phase, figures),
    onOutcome: async (each) => {
      const convicted = each.folder !== null && each.results.some(({ verdict }) => verdict === "violation");
      const history = convicted ? await readHistory(`${each.folder}/history.jsonl`) : undefined;
      console.done(each, history, againOf(wanted, each.scenario.id));
      await reports.add(each);
    },
  });
  for (const problem of reports.problems) out(problem);
  // Shrink after the reports are written, so that they exist even if the shrinking is interrupted. Its results are
  // added by writing them again.
  const outcomes = await shrinkFound(wanted, outcome, { capabilities, signal, out });
  if (outcomes.some(({ smallest }) => smallest !== undefined)) {
    await writeReports({ ...outcome, outcomes }, wanted.out);
  }
  console.end(outcome);
  return outcome;
}

/** The kind of namespaces in which this process has to run again; `null` if it needs none or is already inside. */
async function namespacesFor({ network, scenarios }: RunArguments): Promise<"netns" | "userns" | null> {
  const needed = scenarios.some((scenario) =>
    needsOf(scenario).some((need) => need === "namespaces" || need === "small-disk"),
  );
  if (network === "proxy" || !needed || insideNamespaces()) return null;
  return (await allowedNamespaces(network === "auto" ? undefined : network)) ?? null;
}

async function capabilitiesFor({ network, scenarios, require }: RunArguments): Promise<Capability[]> {
  const asked = new Set<Capability>([...scenarios.flatMap(needsOf), ...require]);
  const probes = await probe(allCapabilities.filter((each) => asked.has(each)));
  const there = probes.filter((each) => each.there).map(({ capability }) => capability);
  return there.filter((each) => !without(network).includes(each));
}

const without = (network: Network): readonly Capability[] =>
  network === "proxy" ? ["namespaces", "small-disk"] : [];

/** The exit code for the worst of all outcomes. */
export function exitOf(outcomes: readonly OutcomeKind[]): number {
  if (outcomes.includes("broken")) return exits.crash;
  if (outcomes.includes("violation") || outcomes.includes("not-demonstrated")) return exits.violation;
  return outcomes.includes("unknown") ? exits.unknown : exits.asExpected;
}
