import { cyclesOf, type WaitEdge } from "@holdfast/collectors/internal";
import { describe, expect, it } from "vitest";
import { lockIdOf } from "../../src/core/lock-id.js";
import { cycleRowOf } from "../../src/core/wait-names.js";
import { fakeLock, fakeParticipant } from "../fake-collector.js";

function waits(from: string, key: string, to: string): WaitEdge {
  const actor = (name: string) => fakeParticipant({ entry: `${key} ${name}`, actor: name, session: name });
  return { cluster: "zoo", lock: fakeLock({ key }), from: actor(from), to: actor(to) };
}

const idOf = (key: string): string => lockIdOf({ cluster: "zoo", backend: "zookeeper", key });

describe("the way around a circle of waits", () => {
  const edges = [
    waits("0xa", "/aside", "0xb"),
    waits("0xc", "/3", "0xa"),
    waits("0xb", "/2", "0xc"),
    waits("0xa", "/1", "0xb"),
    waits("0xd", "/out", "0xa"),
  ];

  it("has for each actor in it the lock at which it waits for the next one, and no actor from outside", () => {
    const [row, ...others] = cyclesOf(edges).map(cycleRowOf);
    expect(others).toEqual([]);
    expect(row?.actors).toHaveLength(3);
    expect(row?.lockIds).toHaveLength(3);
    for (const [at, from] of row?.actors.entries() ?? []) {
      const to = row?.actors[(at + 1) % 3];
      const lockId = row?.lockIds[at];
      expect(
        edges.some(
          (edge) =>
            `zoo/${edge.from.actor}` === from &&
            `zoo/${edge.to.actor}` === to &&
            idOf(edge.lock.key) === lockId,
        ),
        `${from} waits for ${to}`,
      ).toBe(true);
    }
  });

  it("is the same in whatever order the locks were read", () => {
    expect(cyclesOf([...edges].reverse()).map(cycleRowOf)).toEqual(cyclesOf(edges).map(cycleRowOf));
  });

  it("of an actor that waits for itself has each of the locks once", () => {
    const [row] = cyclesOf([waits("0xa", "/1", "0xa"), waits("0xa", "/2", "0xa")]).map(cycleRowOf);
    expect(row?.actors).toEqual(["zoo/0xa", "zoo/0xa"]);
    expect(row?.lockIds).toEqual([idOf("/1"), idOf("/2")]);
  });

  it("is found among hundreds of waits in the time of a few turns", () => {
    const people = 400;
    const name = (n: number): string => `0x${n % people}`;
    const around = Array.from({ length: people }, (_, n) => waits(name(n), `/around/${n}`, name(n + 1)));
    const across = Array.from({ length: people }, (_, n) => waits(name(n), `/across/${n}`, name(n + 2)));
    const before = process.cpuUsage();
    const [row] = cyclesOf([...around, ...across]).map(cycleRowOf);
    const { user, system } = process.cpuUsage(before);
    expect(row?.actors).toHaveLength(people / 2);
    // If each step walked through all waits, this would take five seconds or more.
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});
