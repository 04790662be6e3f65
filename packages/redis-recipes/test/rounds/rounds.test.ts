import { type SimulatedRuntime, seededRandom, simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { Rounds } from "../../src/recipes/requests/rounds.js";

const periodMs = 1_000;

interface Member {
  readonly id: number;
  readonly slot: number | null;
  addedMs: number;
}

class Scene {
  readonly runtime: SimulatedRuntime = simulatedRuntime(1);
  readonly turns = new Map<Member, number[]>();
  readonly ticks: number[] = [];
  readonly rounds = new Rounds<Member>({
    runtime: this.runtime,
    periodMs,
    slotOf: ({ slot }) => slot,
    turn: (those) => {
      this.ticks.push(those.length);
      for (const each of those) this.turns.get(each)?.push(this.runtime.nowMs());
    },
  });

  add(id: number, slot: number | null = null): Member {
    const member = { id, slot, addedMs: this.runtime.nowMs() };
    this.turns.set(member, []);
    this.rounds.add(member);
    return member;
  }

  longestGap(member: Member, untilMs: number): number {
    const times = [member.addedMs, ...(this.turns.get(member) as number[]), untilMs];
    return Math.max(...times.slice(1).map((at, i) => at - (times[i] as number)));
  }
}

describe("rounds", () => {
  it("give a few their turn together, once in a period", async () => {
    const scene = new Scene();
    for (let id = 0; id < 200; id++) scene.add(id);
    await scene.runtime.advance(5 * periodMs + 1);
    expect(scene.ticks).toEqual([200, 200, 200, 200, 200]);
  });

  it("spread ten thousand over fifty parts of the period, whatever burst they came in", async () => {
    const scene = new Scene();
    for (let id = 0; id < 10_000; id++) scene.add(id);
    await scene.runtime.advance(2 * periodMs + 1);
    expect(scene.ticks).toHaveLength(100);
    expect(new Set(scene.ticks)).toEqual(new Set([200]));
  });

  it("give those of one slot their turn together from the first one on", async () => {
    const scene = new Scene();
    const first = scene.add(0, 7);
    await scene.runtime.advance(periodMs / 2);
    for (let id = 1; id < 1_000; id++) scene.add(id, 100 + id);
    const late = scene.add(1_000, 7);
    await scene.runtime.advance(5 * periodMs);
    const [own, others] = [first, late].map((each) => scene.turns.get(each) as number[]) as [
      number[],
      number[],
    ];
    expect(own.length).toBeGreaterThanOrEqual(5);
    expect(own).toEqual(others);
  });

  it("give those of one slot one turn in a period, whether they are all of ten thousand or half of them", async () => {
    for (const every of [1, 2]) {
      const scene = new Scene();
      for (let id = 0; id < 10_000; id++) scene.add(id, id % every === 0 ? 7 : 100 + id);
      await scene.runtime.advance(5 * periodMs + 1);
      const counts = new Set([...scene.turns.values()].map(({ length }) => length));
      expect({ every, counts }).toEqual({ every, counts: new Set([5]) });
    }
  });

  it("leave no member without a turn for longer than a period, while members come and go", async () => {
    const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 2 ** 31);
    console.log(`seed ${seed} (HOLDFAST_SEED)`);
    const random = seededRandom(seed);
    const scene = new Scene();
    const there: Member[] = [];
    let ids = 0;
    for (let turn = 0; turn < 60; turn++) {
      const crowd = random() < 0.3 ? 1_500 : 20;
      if (random() < 0.5) {
        for (let i = 0; i < random() * crowd; i++)
          there.push(scene.add(ids++, random() < 0.5 ? ids % 50 : null));
      } else {
        for (let i = 0; i < random() * crowd && there.length > 0; i++) {
          const [gone] = there.splice(Math.floor(random() * there.length), 1);
          scene.rounds.remove(gone as Member);
          expect(scene.longestGap(gone as Member, scene.runtime.nowMs())).toBeLessThanOrEqual(periodMs + 1);
        }
      }
      await scene.runtime.advance(random() * 400);
    }
    const nowMs = scene.runtime.nowMs();
    expect(Math.max(...there.map((each) => scene.longestGap(each, nowMs)))).toBeLessThanOrEqual(periodMs + 1);
  });

  it("come sooner when most have left, so that those who stay are not later for it", async () => {
    const scene = new Scene();
    const members = Array.from({ length: 2_000 }, (_, id) => scene.add(id));
    await scene.runtime.advance(1.05 * periodMs);
    for (const gone of members.slice(450)) scene.rounds.remove(gone);
    await scene.runtime.advance(2 * periodMs);
    const nowMs = scene.runtime.nowMs();
    const gaps = members.slice(0, 450).map((each) => scene.longestGap(each, nowMs));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(periodMs + 1);
  });

  it("have no timer when no member is left, and when they are closed", async () => {
    const scene = new Scene();
    const only = scene.add(0, 3);
    scene.rounds.remove(only);
    await scene.runtime.advance(3 * periodMs);
    expect(scene.ticks).toEqual([]);
    expect(scene.runtime.pendingTimers).toBe(0);
    scene.add(1);
    scene.rounds.close();
    expect(scene.runtime.pendingTimers).toBe(0);
  });
});
