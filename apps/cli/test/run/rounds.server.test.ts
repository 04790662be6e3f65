import { seededRandom } from "@holdfast/core/testing";
import {
  type EmbeddedZooKeeper,
  type RedisNode,
  startEmbeddedZooKeeper,
  startRedis,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { share } from "../../../../e2e/support/share.js";
import { EndedEarly } from "./support/resource.js";
import {
  type Backend,
  commandKinds,
  type Fault,
  faults,
  leaseMs,
  marginMs,
  type RoundResult,
  round,
} from "./support/round.js";

const rounds = share("rounds of holdfast run under faults", 12, 1_000);
const atOnce = Number(process.env.HOLDFAST_ROUNDS_AT_ONCE ?? 6);
const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** The longest time from a command's start to the fault: before, while or after the second command begins to wait. */
const longestQuietMs = 900;
const withinMs = 60_000 + rounds * 5_000;

/**
 * How long after the fault a writer may still write. The end of a client or of a supervisor is noticed at once, but on a busy
 * machine this may take longer, while the lock stays taken for its whole lease. All other faults are known to the client only by
 * its deadline, which is less than a lease after the fault. The command is dead a margin before the deadline; half of the margin
 * is left to a busy machine.
 */
const deadWithinMs: Readonly<Record<Fault, number>> = {
  "network cut": leaseMs - marginMs / 2,
  "ended by the server": leaseMs - marginMs / 2,
  "client blocked": leaseMs - marginMs / 2,
  "client stopped": leaseMs - marginMs / 2,
  "client killed": 2 * marginMs,
  "supervisor killed": 2 * marginMs,
};

/** When ZooKeeper ends the session of a living client, it gives the lock away at once. The client learns of it a moment later. */
const givenAway = ({ backend, fault }: Pick<RoundResult, "backend" | "fault">): boolean =>
  backend === "zookeeper" && fault === "ended by the server";

let zookeeper: EmbeddedZooKeeper;
let redis: RedisNode;

beforeAll(async () => {
  [zookeeper, redis] = await Promise.all([startEmbeddedZooKeeper(), startRedis()]);
});

afterAll(async () => {
  await Promise.all([zookeeper?.stop(), redis?.stop()]);
});

describe("two holdfast run on one lock", () => {
  const results: RoundResult[] = [];
  const failures: string[] = [];
  const tooBusy: string[] = [];

  beforeAll(async () => {
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const cases = Array.from({ length: rounds }, (_, number) => {
      const backend: Backend =
        number % 2 === 0 ? { kind: "zookeeper", server: zookeeper } : { kind: "redis", server: redis };
      const fault = faults[(number >> 1) % faults.length] as Fault;
      const kind = Math.floor((number >> 1) / faults.length + number) % commandKinds.length;
      const command = commandKinds[kind] as (typeof commandKinds)[number];
      return { number, what: { backend, command, fault, afterMs: random() * longestQuietMs } };
    });
    const workers = Array.from({ length: atOnce }, async () => {
      for (let next = cases.shift(); next !== undefined; next = cases.shift()) {
        try {
          results.push(await round(next.number, next.what));
        } catch (error) {
          (error instanceof EndedEarly ? tooBusy : failures).push(String((error as Error).stack));
        }
      }
    });
    await Promise.all(workers);
    console.log(`${tooBusy.length} rounds without a fault ${tooBusy.join("; ")}`);
    for (const fault of faults)
      for (const backend of ["zookeeper", "redis"]) console.log(summary(fault, backend, results));
  }, withinMs);

  it("all rounds have come to their end, but for a few in which a busy machine has cost the lock before the fault", () => {
    expect(failures).toEqual([]);
    expect(tooBusy.slice(Math.max(1, rounds / 20))).toEqual([]);
    expect(results.length).toBe(rounds - tooBusy.length);
  });

  it("no command of the second one begins before all processes of the first one's command are dead", () => {
    const overlaps = results.filter((result) => !givenAway(result) && result.overlapMs > 0);
    expect(overlaps).toEqual([]);
  });

  it("a command whose lock the server gives away is dead within the margin", () => {
    const late = results.filter((result) => givenAway(result) && result.deadAfterMs > marginMs);
    expect(late).toEqual([]);
  });

  it("the first command is dead within the time that is promised for its fault", () => {
    const late = results.filter((result) => result.deadAfterMs > deadWithinMs[result.fault]);
    expect(late).toEqual([]);
  });

  it("holdfast run says by its exit code that it has lost the lock or its supervisor", () => {
    const codes: Readonly<Record<Fault, number | string>> = {
      "network cut": 124,
      "ended by the server": 124,
      "client blocked": 124,
      "client stopped": 124,
      "client killed": "SIGKILL",
      "supervisor killed": 125,
    };
    const wrong = results.filter(({ fault, firstEnd }) => firstEnd !== codes[fault]);
    expect(wrong).toEqual([]);
  });
});

function summary(fault: Fault, backend: string, results: readonly RoundResult[]): string {
  const of = results.filter((result) => result.fault === fault && result.backend === backend);
  if (of.length === 0) return `${backend}, ${fault}: no round`;
  const most = (key: "deadAfterMs" | "overlapMs"): number =>
    Math.round(Math.max(...of.map((each) => each[key])));
  const least = Math.round(Math.min(...of.map(({ aheadMs }) => aheadMs)));
  const overlaps = of.filter(({ overlapMs }) => overlapMs > 0).length;
  return `${backend}, ${fault}: ${of.length} rounds, ${overlaps} overlaps (at most ${most("overlapMs")} ms), dead after at most ${most("deadAfterMs")} ms, at least ${least} ms before the next`;
}
