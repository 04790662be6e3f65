import { monitorEventLoopDelay } from "node:perf_hooks";
import { scriptNameOf } from "@holdfast/redis-recipes/internal";
import { eventually, type RespEntry } from "@holdfast/test-servers";
import { beforeAll, describe, expect, it } from "vitest";
import { share } from "../../support/share.js";
import { behindSentinels, inCluster, oneServer, type Place } from "./places.js";

const count = share("holds and waits of one provider", 300, 10_000);
const full = count >= 10_000;
/**
 * All clients and proxies run in this process. Both periods are long enough that the speed of the process does not decide the
 * result: with 10,000 waits in a cluster a heartbeat is 8,000 calls, and a process that stands still delays some of them.
 */
const leaseMs = full ? 30_000 : 6_000;
const heartbeatMs = full ? leaseMs / 3 : 1_000;
/** The least gap between two rounds, as a share of the period. Timers and a busy machine may make a round early or late. */
const punctual = 0.7;

const places: readonly [string, () => Promise<Place>][] = [
  ["on one server", oneServer],
  ["behind sentinels", behindSentinels],
  ["in a cluster", inCluster],
];

const holds = Array.from({ length: count }, (_, n) => `hold-${n}`);
const waits = Array.from({ length: count }, (_, n) => `wait-${n}`);
const rounds = [
  { what: "renewals", script: "renew", of: holds, periodMs: leaseMs / 3 },
  { what: "heartbeats", script: "mutex-heartbeat", of: waits, periodMs: heartbeatMs },
] as const;

/** What one provider on these servers sends while each of its holds is renewed twice. */
interface Stage {
  readonly place: Place;
  readonly calls: readonly RespEntry[];
  readonly lost: number;
  /** The longest time for which this process stood still. Calls of that time are seen together, and later than they were due. */
  readonly stalledMs: number;
}

async function perform(start: () => Promise<Place>): Promise<Stage> {
  const place = await start();
  const others = place.locks({ heartbeatMs });
  const locks = place.locks({ leaseMs, heartbeatMs });
  try {
    let renewed = 0;
    let lost = 0;
    locks.events.on("renewed", () => renewed++);
    locks.events.on("lost", () => lost++);
    const untilRenewed = async (times: number): Promise<void> => {
      const from = renewed;
      await eventually(() => renewed - from >= times * count, {
        what: `${times} renewals of each`,
        withinMs: 5 * leaseMs,
      });
    };
    await Promise.all([others.ready(), locks.ready()]);
    await Promise.all(waits.map((name) => others.mutex(name).acquire({ leaseMs: 600_000 })));
    for (const name of waits) locks.mutex(name).acquire({ waitMs: 600_000 }).catch(ended);
    await Promise.all(holds.map((name) => locks.mutex(name).acquire()));
    // From its first renewal on, the calls of each hold have their places in the period.
    await untilRenewed(1);
    for (const link of place.links) link.reset();
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await untilRenewed(2);
    delays.disable();
    const calls = place.links
      .flatMap(({ trace }) => trace)
      .filter(({ kind, name }) => kind === "command" && name.startsWith("EVAL"))
      .sort((one, other) => one.at - other.at);
    return { place, calls, lost, stalledMs: delays.max / 1e6 };
  } finally {
    await Promise.all([locks, others].map((each) => each.close({ releaseTimeoutMs: 1 })));
    await place.stop();
  }
}

const stages = new Map<string, Stage>();
beforeAll(async () => {
  // One after the other: each keeps this process busy.
  for (const [where, start] of places) stages.set(where, await perform(start));
}, 600_000);

describe.each(places)("%s", (where) => {
  it.each(rounds)(
    `$what of ${count} are few calls, and not all at once`,
    ({ what, script, of, periodMs }) => {
      const { place, lost, stalledMs, calls: all } = stages.get(where) as Stage;
      const prefix = `${of[0]?.split("-")[0]}-`;
      const onThese = all.filter(({ key }) => key?.startsWith(prefix) === true);
      // The provider of the locks that are waited for rechecks its holds after a broken contact or a step of the server's
      // clock. Those calls run other scripts and do not count.
      const calls = onThese.filter((call) => scriptNameOf(call.script ?? "") === script);
      const { most, inTenth } = busiest(calls, periodMs, stalledMs);
      const slots = new Set(of.map((name) => place.slotOf(name))).size;
      const flights = new Set(calls.map(({ connection, flight }) => `${connection} ${flight}`)).size;
      console.log(
        `${where}: ${what} of ${count}: ${most} calls in a period, ${inTenth} in its busiest tenth, ${slots} slots; ${calls.length} calls in ${flights} flights, and ${onThese.length - calls.length} of other scripts; this process stood still for ${Math.round(stalledMs)} ms`,
      );
      expect(lost).toBe(0);
      expect(calls.length).toBeGreaterThan(0);
      if (place.slotOf("any") === null) {
        expect(most).toBeLessThanOrEqual(100);
        return;
      }
      expect(leastGap(calls, place)).toBeGreaterThan(punctual * periodMs - stalledMs);
      expect(most).toBeLessThanOrEqual(slots);
      expect(inTenth).toBeLessThanOrEqual((0.6 + stalledMs / periodMs) * slots);
    },
  );
});

/** The most calls within a period, shortened by `punctual` and `stalledMs`, and the most within a tenth of a period. */
function busiest(
  calls: readonly RespEntry[],
  periodMs: number,
  stalledMs: number,
): { most: number; inTenth: number } {
  const within = (forMs: number): number => {
    let most = 0;
    let first = 0;
    calls.forEach(({ at }, last) => {
      while (at - (calls[first] as RespEntry).at >= forMs) first++;
      most = Math.max(most, last - first + 1);
    });
    return most;
  };
  return { most: within(periodMs * punctual - stalledMs), inTenth: within(periodMs / 10) };
}

/** The shortest time between two calls of one slot. */
function leastGap(calls: readonly RespEntry[], place: Place): number {
  const last = new Map<number | null, number>();
  let least = Infinity;
  for (const { key, at } of calls) {
    const slot = place.slotOf(key as string);
    least = Math.min(least, at - (last.get(slot) ?? -Infinity));
    last.set(slot, at);
  }
  return least;
}

/** Ignores the error of a wait that ends because its provider was closed. */
function ended(error: unknown): void {
  if ((error as Error).name !== "ProviderClosedError") throw error;
}
