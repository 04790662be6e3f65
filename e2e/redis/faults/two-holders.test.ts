import { describe, expect, it } from "vitest";
import { share } from "../../support/share.js";
import { type Acks, type Blow, blows, type Sighting, sight } from "./two-holders.js";

const full = process.env.HOLDFAST_FULL === "1";
/** How late a timer may be on a busy machine. */
const lateMs = 1_000;
const leaseMs = 3_000;

/** `2,950 (2,800-3,010)`: the median, the least and the most of the runs in which the lock was granted. */
function figure(seen: readonly Sighting[], of: (sighting: Sighting) => number): string {
  const sorted = seen.map(of).sort((a, b) => a - b);
  const told = [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)].map((ms = 0) =>
    Math.round(ms).toLocaleString("en"),
  );
  return `${told[0]} (${told[1]}-${told[2]})`;
}

async function measure(blow: Blow, minReplicas: 0 | 1, runs: number): Promise<Map<Acks, Sighting[]>> {
  const byAcks = new Map<Acks, Sighting[]>();
  for (let run = 0; run < runs; run++) {
    for (const sighting of await sight(blow, minReplicas)) {
      byAcks.set(sighting.acks, [...(byAcks.get(sighting.acks) ?? []), sighting]);
    }
  }
  for (const [acks, seen] of byAcks) {
    const granted = seen.filter((sighting) => sighting.granted);
    const times =
      granted.length === 0
        ? "never granted"
        : `both ${figure(granted, ({ bothMs }) => bothMs)} ms, unaware ${figure(granted, ({ unawareMs }) => unawareMs)} ms`;
    console.log(
      `two holders | ${blow} | min-replicas ${minReplicas} | acks ${acks} | granted ${granted.length}/${seen.length} | ${times}`,
    );
  }
  return byAcks;
}

/** The cells that a share shows. All of them take a quarter of an hour. */
const inShare: readonly (readonly [Blow, 0 | 1])[] = [
  ["killed, replicas behind", 0],
  ["cut off with the holder, for 8 s", 1],
];

describe.each([0, 1] as const)("with min-replicas-to-write %d", (minReplicas) => {
  const cells = (Object.keys(blows) as Blow[]).filter(
    (blow) => full || inShare.some(([what, which]) => what === blow && which === minReplicas),
  );
  it.each(cells)(
    "for how long two clients believe to hold at once: master %s",
    async (blow) => {
      const runs = share(`runs of two holders, ${blow}, min-replicas ${minReplicas}`, 1, 10);
      const byAcks = await measure(blow, minReplicas, runs);
      const longest = (acks: Acks) => Math.max(...(byAcks.get(acks) ?? []).map(({ bothMs }) => bothMs));
      const longestNew = (acks: Acks) =>
        Math.max(0, ...(byAcks.get(acks) ?? []).map(({ newBothMs = 0 }) => newBothMs));
      expect([...byAcks.values()].flat()).toHaveLength(3 * runs);
      switch (blow) {
        case "killed, replicas in step":
          for (const acks of ["none", 1, "all"] as const) expect(longest(acks)).toBe(0);
          return;
        case "killed, replicas behind":
          // No replica acknowledges the grant, so a holder that asks for acknowledgements is refused.
          for (const acks of [1, "all"] as const) {
            expect(byAcks.get(acks)?.filter(({ granted }) => granted)).toEqual([]);
          }
          // This shows that the missing acknowledgement refuses them, and not the set-up.
          expect(byAcks.get("none")?.some(({ granted }) => granted)).toBe(true);
          // The holder learns of the end of the master at once, and asks the next one.
          expect(longest("none")).toBeLessThan(leaseMs + lateMs);
          return;
        case "planned failover":
        case "planned failover, holder deaf to Sentinels":
          expect(longestNew("all")).toBe(0);
          // The new master may refuse a rival until a replica follows it. By then the hold is no longer new, and its last
          // renewal may be one that only the old master has.
          if (minReplicas === 1) expect(longest("all")).toBeLessThan(leaseMs + lateMs);
          else expect(longest("all")).toBe(0);
          return;
        case "cut off with the holder, for 8 s":
          // Renewals wait for no replica, so only min-replicas-to-write can end the hold at the master that is cut off.
          if (minReplicas === 1) {
            for (const acks of ["none", 1, "all"] as const) {
              expect(longest(acks)).toBeLessThan(leaseMs + lateMs);
            }
          }
      }
    },
    full ? 900_000 : 60_000,
  );
});
