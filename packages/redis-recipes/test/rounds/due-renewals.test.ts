import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { DueRenewals, type Renewable } from "../../src/recipes/grants/due-renewals.js";

const leaseMs = 12_000;

/** A hold whose renewals are confirmed after the whole time for which they may wait for others. */
class Hold implements Renewable {
  readonly renewals = new DueRenewals(this);
  readonly sentMs: number[] = [];
  confirmedSentMs = -Infinity;
  ended = false;
  fails = false;
  /** Whether the server no longer has the hold. */
  missing = false;
  toldGone = 0;
  /** How many others it has looked at. */
  looks = 0;
  readonly #runtime: SimulatedRuntime;
  readonly slot: number | null;
  readonly #all: Hold[];

  constructor(runtime: SimulatedRuntime, slot: number | null, all: Hold[]) {
    this.#runtime = runtime;
    this.slot = slot;
    this.#all = all;
    all.push(this);
  }

  nowMs(): number {
    return this.#runtime.nowMs();
  }

  validUntilMs(): number {
    return this.confirmedSentMs + leaseMs;
  }

  gone(): void {
    this.toldGone++;
  }

  async renewWithin(_leaseMs: number, withinMs: number): Promise<number | null> {
    await new Promise<void>((resolve) => this.#runtime.setTimer(withinMs, resolve));
    if (this.fails) throw new Error("nobody answers");
    if (this.missing) return null;
    this.confirmedSentMs = this.nowMs();
    this.sentMs.push(this.nowMs());
    return this.validUntilMs();
  }

  *besides(): Iterable<DueRenewals> {
    for (const each of this.#all) {
      if (each === this || each.slot !== this.slot) continue;
      this.looks++;
      yield each.renewals;
    }
  }
}

describe("due renewals", () => {
  const scene = () => {
    const runtime = simulatedRuntime(1);
    const all: Hold[] = [];
    return { runtime, hold: (slot: number | null) => new Hold(runtime, slot, all) };
  };
  const settle = async (runtime: SimulatedRuntime, renewal: Promise<number | null>) => {
    await runtime.advance(leaseMs / 4);
    return await renewal;
  };
  /** Each of them has its first renewal. */
  const begin = async (runtime: SimulatedRuntime, ...holds: readonly Hold[]) => {
    const renewals = holds.map((each) => each.renewals.due(leaseMs));
    await runtime.advance(leaseMs / 4);
    await Promise.all(renewals);
  };

  it("that go along report the loss to a holder whose entry is gone", async () => {
    const { runtime, hold } = scene();
    const [one, other] = [hold(0), hold(0)];
    await begin(runtime, one, other);
    await runtime.advance(leaseMs / 3);
    other.missing = true;
    await settle(runtime, one.renewals.due(leaseMs));
    expect([one.toldGone, other.toldGone]).toEqual([0, 1]);
  });

  it("of one slot go together, and a hold that went along is not due when its own turn comes", async () => {
    const { runtime, hold } = scene();
    const [one, other] = [hold(0), hold(0)];
    await begin(runtime, one, other);
    await runtime.advance(1_000);
    await settle(runtime, one.renewals.due(leaseMs));
    expect(other.sentMs).toHaveLength(2);
    expect(other.sentMs[1]).toBe(one.sentMs[1]);
    const untilMs = other.validUntilMs();
    await expect(other.renewals.due(leaseMs)).resolves.toBe(untilMs);
  });

  it("of a crowd in one slot go together, and look at the others once in a period and not each at all others", async () => {
    const { runtime, hold } = scene();
    const crowd = Array.from({ length: 200 }, () => hold(0));
    for (let period = 0; period < 3; period++) {
      const renewals = crowd.map((each) => each.renewals.due(leaseMs));
      await runtime.advance(leaseMs / 3);
      await Promise.all(renewals);
    }
    expect(new Set(crowd.flatMap(({ sentMs }) => sentMs)).size).toBe(3);
    expect(crowd.reduce((sum, { looks }) => sum + looks, 0)).toBeLessThanOrEqual(3 * 200);
  });

  it("of a hold with a short lease do not wait as long as those of one with a long lease in its slot", async () => {
    const { runtime, hold } = scene();
    const [long, short] = [hold(0), hold(0)];
    const first = [long.renewals.due(30_000), short.renewals.due(600)];
    await runtime.advance(1_000);
    await Promise.all(first);
    await runtime.advance(9_000);
    void long.renewals.due(30_000);
    await runtime.advance(600 / 60);
    expect(short.sentMs).toHaveLength(2);
  });

  it("are asked for by themselves where the slot's last one was too long ago", async () => {
    const { runtime, hold } = scene();
    const one = hold(0);
    await settle(runtime, one.renewals.due(leaseMs));
    await runtime.advance(leaseMs / 4);
    await settle(runtime, one.renewals.due(leaseMs));
    expect(one.sentMs).toHaveLength(2);
  });

  it("never take a hold along that is not renewed by the clock, that has ended, or that is of another slot", async () => {
    const { runtime, hold } = scene();
    const [one, once, over, elsewhere] = [hold(0), hold(0), hold(0), hold(1)];
    await begin(runtime, one, over, elsewhere);
    await runtime.advance(1_000);
    over.ended = true;
    const before = [over.sentMs.length, elsewhere.sentMs.length];
    await settle(runtime, one.renewals.due(leaseMs));
    expect(one.sentMs).toHaveLength(2);
    expect(once.sentMs).toEqual([]);
    expect([over.sentMs.length, elsewhere.sentMs.length]).toEqual(before);
  });

  it("of many slots are spread, the first time, and keep half of the lease", async () => {
    const { runtime, hold } = scene();
    const holds = Array.from({ length: 64 }, (_, slot) => hold(slot));
    const startMs = runtime.nowMs();
    for (const each of holds) void each.renewals.due(leaseMs);
    await runtime.advance(leaseMs);
    const sent = holds.map(({ sentMs }) => (sentMs[0] as number) - startMs);
    expect(Math.max(...sent) - Math.min(...sent)).toBeGreaterThan(leaseMs / 7);
    expect(Math.max(...sent)).toBeLessThan(leaseMs / 5);
    const againMs = runtime.nowMs();
    for (const each of holds) void each.renewals.due(leaseMs);
    await runtime.advance(leaseMs / 10);
    for (const { sentMs } of holds) expect((sentMs[1] as number) - againMs).toBeLessThan(leaseMs / 50);
  });

  it("that fail along with another are tried again when their own turn comes", async () => {
    const { runtime, hold } = scene();
    const [one, other] = [hold(0), hold(0)];
    await begin(runtime, one, other);
    await runtime.advance(leaseMs / 4);
    other.fails = true;
    await settle(runtime, one.renewals.due(leaseMs));
    expect(other.sentMs).toHaveLength(1);
    other.fails = false;
    await settle(runtime, other.renewals.due(leaseMs));
    expect(other.sentMs).toHaveLength(2);
  });

  it("have no slots on one server: each waits for company, and no hold goes along", async () => {
    const { runtime, hold } = scene();
    const [one, other] = [hold(null), hold(null)];
    await settle(runtime, other.renewals.due(leaseMs));
    await settle(runtime, one.renewals.due(leaseMs));
    expect(other.sentMs).toHaveLength(1);
  });
});
