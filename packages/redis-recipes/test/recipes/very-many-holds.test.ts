import { type Runtime, systemRuntime } from "@holdfast/core";
import type { KeepingState } from "@holdfast/core/driver";
import { beforeEach, describe, expect, it } from "vitest";
import type { WireOwners } from "../../src/layout/owners.js";
import { type GrantedLock, Holds } from "../../src/recipes/grants/holds.js";
import type { KeptGrants } from "../../src/recipes/grants/kept-grants.js";
import { type GrantSpec, RedisGrant } from "../../src/recipes/grants/redis-grant.js";
import type { Requests } from "../../src/recipes/requests/requests.js";

/** More holds than are notified in one turn of the event loop, and more than are asked about at a time. */
const many = 1_200;
const askedAtATime = 500;

class Recorded implements KeepingState {
  readonly heard: string[] = [];
  doubted = false;
  constructor(public delivered: boolean) {}
  uncertain(): void {
    this.doubted = true;
    this.heard.push("uncertain");
  }
  recovered(): void {
    this.doubted = false;
    this.heard.push("recovered");
  }
  wanted(): void {
    this.heard.push("wanted");
  }
  answered(): void {}
  revokeRequested(): void {}
  lost(reason: string): void {
    this.heard.push(`lost ${reason}`);
  }
}

interface Hold {
  readonly grant: RedisGrant;
  readonly state: Recorded;
  readonly heard: string[];
}

const line = {
  state: "connected",
  masterOf: (_key: string): string => master,
  slotOf: (_key: string): number | null => null,
};
let master: string;
let holds: Holds;
let parts: ConstructorParameters<typeof RedisGrant>[0];
let all: Hold[];
/** Each function answers one request that its hold still stands. */
let unanswered: (() => void)[];
/** The keys of all holds that were asked about. */
let asked: string[];

beforeEach(() => fill());

const isOther = (key: string): boolean => Number(key.slice(1)) % 2 === 1;

/** Makes all holds. In a cluster, half of them are in a slot of another master. */
function fill({ cluster = false } = {}): void {
  line.slotOf = (key) => (cluster ? Number(isOther(key)) : null);
  line.masterOf = (key) => (cluster && isOther(key) ? "other" : master);
  // Each reading of the clock adds 1 ms, as if many items had been handled meanwhile.
  let nowMs = 0;
  const runtime: Runtime = Object.create(systemRuntime, { nowMs: { value: () => ++nowMs } });
  line.state = "connected";
  master = "m1";
  unanswered = [];
  asked = [];
  const ask = (_renewal: unknown, [key]: readonly string[]) =>
    new Promise((resolve) => {
      const [runId, sentMs] = [line.masterOf(key as string), nowMs];
      asked.push(key as string);
      unanswered.push(() =>
        resolve({ reply: { status: "renewed", pttlMs: 30_000, token: 7n }, sentMs, runId }),
      );
    });
  const settings = { acks: 0, aliveMs: 3_500 };
  const trusts = (): boolean => true;
  const requests = {
    line,
    runtime,
    settings,
    batches: { ask },
    trusts,
    sawToken() {},
  } as unknown as Requests;
  const hearing = {};
  const keptGrants = {
    requests,
    hearing: () => hearing,
    jumps: { read: () => 0 },
    rounds: { add() {} },
  } as unknown as KeptGrants;
  holds = new Holds(requests, {} as WireOwners);
  parts = { requests, holds, keptGrants };
  all = Array.from({ length: many }, (_, i) => {
    const key = `l${i}`;
    const lock = { name: key, key, sharing: "none", renewKeys: [key], proof: {} } as unknown as GrantedLock;
    const found = { token: 7n, untilMs: 30_000, askedMs: 0, runId: line.masterOf(key) };
    const spec = { lock, owner: `o${i}`, field: `o${i}`, leaseMs: 30_000, found } as unknown as GrantSpec;
    const grant = new RedisGrant(parts, spec);
    const state = new Recorded(i < many - 1);
    grant.enter(state);
    return { grant, state, heard: state.heard };
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function allTurns(): Promise<void> {
  for (let i = 0; i < 2 * many; i++) await turn();
}

function breakContact(): void {
  line.state = "suspended";
  holds.contactBroken();
}

const at = (index: number): Hold => all.at(index) as Hold;
const heardBy = (index: number): readonly string[] => at(index).heard;

async function eachHears(expected: readonly string[]): Promise<void> {
  await allTurns();
  for (const { heard } of all) expect(heard).toEqual(expected);
}

it("the late answer of a master that was replaced ends no hold which the present one has granted", () => {
  const { spec } = at(0).grant;
  const found = { ...spec.found, runId: "replaced" };
  const late = new RedisGrant(parts, { ...spec, owner: "late", field: "late", found });
  const state = new Recorded(false);
  late.enter(state);
  expect([state.heard, heardBy(0)]).toEqual([["uncertain"], []]);
});

describe("very many holds of one provider", () => {
  it("are notified of a break in turns, and one that is asked before its turn is in doubt at once", async () => {
    breakContact();
    expect([...heardBy(0), ...heardBy(-2)]).toEqual(["uncertain"]);
    at(-2).grant.validUntilMs();
    expect(heardBy(-2)).toEqual(["uncertain"]);
    await eachHears(["uncertain"]);
  });

  it("are notified of a break at once where their callers do not have them: nothing is delivered unproven", () => {
    breakContact();
    expect(heardBy(-1)).toEqual(["uncertain"]);
  });

  it("are notified of a break at once where the next owner does not have the kept lock yet", () => {
    at(600).state.delivered = false;
    at(600).grant.lend();
    breakContact();
    expect(heardBy(600)).toEqual(["uncertain"]);
  });

  it("are asked about after a reconnect some hundred at a time, and the latest round asks about all", async () => {
    holds.renewAll();
    expect(asked).toHaveLength(askedAtATime);
    for (const answer of unanswered.splice(0, 100)) answer();
    await allTurns();
    expect(asked).toHaveLength(askedAtATime + 100);
    asked.length = 0;
    holds.renewAll();
    await allTurns();
    // This round waits for the answers that the one before it has not got yet, and asks about others for those that came.
    expect(unanswered.length).toBe(askedAtATime + 100);
    while (unanswered.length > 0) {
      for (const answer of unanswered.splice(0)) answer();
      await allTurns();
      expect(unanswered.length).toBeLessThanOrEqual(askedAtATime);
    }
    // Holds that were asked about when the second round began got their answer after that. So it does not ask about them again.
    expect(new Set(asked).size).toBeGreaterThanOrEqual(many - askedAtATime);
    expect(asked.length).toBe(new Set(asked).size);
  });

  it("at one master of a cluster do not wait for those at another that is silent", async () => {
    fill({ cluster: true });
    holds.renewAll();
    const seen = new Set<string>();
    for (let round = 0; round < 10; round++) {
      const keys = asked.splice(0);
      for (const [at, answer] of unanswered.splice(0).entries()) if (!isOther(keys[at] as string)) answer();
      for (const key of keys) seen.add(key);
      await turn();
    }
    expect([...seen].filter((key) => !isOther(key))).toHaveLength(many / 2);
    expect([...seen].filter(isOther)).toHaveLength(askedAtATime);
  });

  it("are in doubt once another master was there, also if it has gone again before they were notified", async () => {
    master = "m2";
    holds.masterChanged();
    master = "m1";
    holds.masterChanged();
    await eachHears(["uncertain"]);
  });

  it("are left in doubt by no break that an answer to a later request has come before", async () => {
    breakContact();
    line.state = "connected";
    const renewal = at(-2).grant.renewWithin(30_000);
    unanswered.shift()?.();
    await renewal;
    expect(heardBy(-2)).toEqual(["uncertain", "recovered"]);
    await allTurns();
    expect(heardBy(-2)).toEqual(["uncertain", "recovered"]);
  });

  it("are in doubt when the clock of their server was stepped, and asked about some hundred at a time", async () => {
    holds.clockStepped("m2");
    await allTurns();
    expect(heardBy(0)).toEqual([]);
    holds.clockStepped("m1");
    while (unanswered.length > 0) {
      expect(unanswered.length).toBeLessThanOrEqual(askedAtATime);
      for (const answer of unanswered.splice(0)) answer();
      await allTurns();
    }
    await eachHears(["uncertain", "recovered"]);
  });

  it("are neither kept nor lent after a break of which they were not notified yet", () => {
    expect(at(-3).grant.keep()).toBe(true);
    breakContact();
    line.state = "connected";
    expect(at(-2).grant.keep()).toBe(false);
    at(-3).grant.mayLend();
    expect(heardBy(-3)).toEqual(["wanted", "uncertain"]);
  });
});
