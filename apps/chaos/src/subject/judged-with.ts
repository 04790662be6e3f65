import { type CheckerName, checkerNames } from "../checkers/judge.js";
import { drawPlan } from "../engine/plan.js";
import type { KeySpec, Scenario, Topology } from "../engine/scenario.js";
import type { ProvidedKind, ProvidedServers, Provides } from "../workload/provides.js";

/** The name of the recipe with which a group runs a subject. `RunOptions.programs` contains its program. */
export const subjectRecipe = "subject";

/** The abilities of a client that checkers need, and the text for an ability that is missing. */
const wants: readonly { can: keyof Provides; checkers: readonly CheckerName[]; why: string }[] = [
  { can: "tokens", checkers: ["fence-order", "fence-effect"], why: "it gives no fencing tokens" },
  { can: "tellsLoss", checkers: ["lost-notice"], why: "it does not tell a holder of its loss" },
  { can: "promises", checkers: ["advertised"], why: "it does not promise a time" },
  { can: "fair", checkers: ["fifo"], why: "it promises no order" },
];

/** Names for groups of checkers that are often used together. */
const groups: Readonly<Record<string, readonly CheckerName[]>> = { "no-damage": ["effect", "lost-update"] };

/** Reads `--expect`: names of checkers, and `no-damage`. @throws RangeError for another name */
export function readExpected(names: readonly string[]): CheckerName[] {
  return names.flatMap((name) => {
    const known = groups[name] ?? checkerNames.filter((each) => each === name);
    if (known.length === 0) {
      throw new RangeError(
        `--expect is ${[...Object.keys(groups), ...checkerNames].join(", ")}; not ${name}`,
      );
    }
    return known;
  });
}

/** The checkers that cannot judge such a client at such servers, each with the reason. */
function notJudgedOf(provides: Provides, { kind }: Topology): Partial<Record<CheckerName, string>> {
  const notJudged: Partial<Record<CheckerName, string>> = {};
  for (const { can, checkers, why } of wants) {
    if (provides[can] !== true) for (const checker of checkers) notJudged[checker] = why;
  }
  // On Redis the search for leftovers finds every key with the lock's name in it. On ZooKeeper it looks only below the
  // path of our own recipes.
  if (kind === "zookeeper") notJudged.leaks = "the runner does not know where it keeps its nodes";
  return notJudged;
}

/**
 * Replaces the clients of a scenario. Servers, turns and faults stay as in the catalogue; only `expected` must pass.
 * Checkers of what the client does not provide are left out and named in `subject.notJudged`. A scenario that the
 * client cannot run at all gets `subject.cannot`.
 */
export function judgedWith(
  scenario: Scenario,
  name: string,
  provides: Provides,
  expected: readonly CheckerName[] = [],
): Scenario {
  const notJudged = notJudgedOf(provides, scenario.topology);
  const subject = { name, notJudged };
  const cannot = whyNot(scenario, provides);
  if (cannot !== null) return { ...scenario, mode: name, subject: { ...subject, cannot } };
  const keys = Object.fromEntries(
    Object.entries(scenario.keys)
      .filter(([, key]) => has(provides, key))
      .map(([id, key]) => [id, asProvided(key, provides)]),
  );
  const judged = checkerNames.filter((checker) => notJudged[checker] === undefined);
  const pass = expected.filter((checker) => judged.includes(checker));
  return {
    ...scenario,
    keys,
    groups: scenario.groups.flatMap((group) => {
      const theirs = group.keys.filter((key) => Object.hasOwn(keys, key));
      if (theirs.length === 0) return [];
      const { writes, ...rest } = group;
      // Writes are fenced even where the catalogue has unfenced ones, because those are for a client without tokens.
      const written = writes === undefined ? undefined : provides.tokens === true ? "fenced" : "unfenced";
      return [
        {
          ...rest,
          keys: theirs,
          recipe: subjectRecipe,
          ...(written === undefined ? {} : { writes: written }),
        },
      ];
    }),
    expect: { pass, report: judged.filter((checker) => !pass.includes(checker)) },
    check: {
      ...scenario.check,
      only: judged,
      ...(provides.tellsLoss === true && { tellsLoss: true }),
      ...(provides.fair !== true && { healClients: 1 }),
    },
    mode: name,
    subject,
  };
}

function whyNot(scenario: Scenario, provides: Provides): string | null {
  const { topology, keys, needs = [] } = scenario;
  if (scenario.judgeAlone !== undefined) return "it judges the checkers, and no client";
  if (needs.includes("curator") || needs.includes("redisson"))
    return "it is about two clients at the same locks";
  const servers = serversOf(topology);
  if (servers !== null && !provides.servers.includes(servers)) {
    return `the client does not know the servers ${servers} (it provides ${provides.servers.join(", ")})`;
  }
  const missing = Object.entries(keys).filter(([, key]) => !has(provides, key));
  const kinds = [...new Set(missing.map(([, { kind }]) => kind))].join(", ");
  if (missing.length === Object.keys(keys).length) {
    return `the client does not provide ${kinds} (it provides ${provides.kinds.join(", ")})`;
  }
  // The locks at which the faults aim must exist, whichever seed draws the faults.
  const plan = JSON.stringify(drawPlan(scenario, 1));
  const aimed = missing.filter(([id]) => plan.includes(`(${id})`) || plan.includes(`(${id},`));
  return aimed.length === 0 ? null : `its faults aim at a lock that the client does not provide: ${kinds}`;
}

function serversOf(topology: Topology): ProvidedServers | null {
  return topology.kind === "none" ? null : topology.kind;
}

/** A lock that the scenario calls naive or RedLock is a mutex for a client from outside. */
function kindOf({ kind }: KeySpec): KeySpec["kind"] {
  return kind === "naive" || kind === "redlock" ? "mutex" : kind;
}

function has(provides: Provides, key: KeySpec): boolean {
  return provides.kinds.includes(kindOf(key) as ProvidedKind);
}

function asProvided(key: KeySpec, provides: Provides): KeySpec {
  const { fair: _, fenced: __, ...rest } = key;
  const kind = kindOf(key);
  return {
    ...rest,
    kind,
    ...(provides.fair === true && key.fair === true ? { fair: true } : {}),
    ...(provides.tokens === true && (key.fenced === true || kind !== key.kind) ? { fenced: true } : {}),
  };
}
