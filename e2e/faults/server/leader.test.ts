import type { LockHandle, LockProvider } from "@holdfast/core";
import { eventually, startEnsemble, type ZooKeeperEnsemble } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { spread } from "./figures.js";
import { RawSession } from "./raw-session.js";
import { testLimitMs } from "./test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

const names = ["a", "b", "c", "d"];

let ensemble: ZooKeeperEnsemble;
let providers: LockProvider[];
let told: { type: string; name: string }[];
let round = 0;
/** A session time-out so long that no election costs a hold, however slow the machine is. */
const lastingMs = 60_000;

beforeAll(async () => {
  ensemble = await startEnsemble({ tickTimeMs: 500, syncLimit: 5, maxSessionTimeoutMs: lastingMs });
}, 300_000);
afterAll(() => ensemble.stop(), 300_000);

async function connectAll(sessionTimeoutMs: number): Promise<void> {
  told = [];
  providers = [];
  // More providers than locks, so that some are on the leader and some on either follower.
  for (let i = 0; i < 2 * names.length; i++) {
    const locks = zookeeperLocks({ connect: ensemble.connectString, sessionTimeoutMs });
    for (const type of ["uncertain", "recovered", "lost", "requeued"] as const) {
      locks.events.on(type, ({ name }) => told.push({ type, name }));
    }
    providers.push(locks);
  }
  await Promise.all(providers.map((locks) => locks.ready()));
}

async function closeAll(): Promise<void> {
  await Promise.all(providers.map((locks) => locks.close()));
}

/** One lock with a holder and two waiters behind it, all in different sessions. Fails as soon as two hold at once. */
class Contest {
  readonly path: string;
  handle: LockHandle | null = null;
  readonly #served: string[] = [];
  #waits: Promise<void>[] = [];

  constructor(path: string) {
    this.path = path;
  }

  async begin(index: number): Promise<void> {
    const of = (offset: number) =>
      (providers[(index + offset) % providers.length] as LockProvider).mutex(this.path);
    this.handle = await of(0).acquire({ waitMs: 20_000 });
    this.#waits = [1, 4].map((offset) => this.#wait(String(offset), of(offset).acquire({ waitMs: 40_000 })));
    for (const served of this.#waits) served.catch(() => {}); // awaited by `served`, unless the test has failed before
    await eventually(async () => (await of(0).inspect()).pendingTotal === 2, { what: "two waiters" });
  }

  async #wait(who: string, acquired: Promise<LockHandle>): Promise<void> {
    const handle = await acquired;
    if (this.handle !== null && this.handle.state !== "lost") {
      throw new Error(`${this.path}: ${who} was granted while another's handle is ${this.handle.state}`);
    }
    this.handle = handle;
    this.#served.push(who);
    await this.giveBack();
  }

  async giveBack(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await handle?.release();
  }

  async served(): Promise<void> {
    await Promise.all(this.#waits);
    expect(this.#served).toHaveLength(2);
  }
}

async function contests(): Promise<Contest[]> {
  round++;
  const all = names.map((name) => new Contest(`/leader/${round}/${name}`));
  await Promise.all(all.map((contest, index) => contest.begin(index)));
  told.length = 0;
  return all;
}

/** Expects that no lock has a queue node. A separate client reads them at the leader. */
async function expectAllEmpty(all: readonly Contest[]): Promise<void> {
  const operator = await RawSession.open((await ensemble.leader()).connectString);
  for (const { path } of all) expect(await operator.children(path), path).toEqual([]);
  operator.destroy();
}

function times(type: string): number {
  return told.filter((each) => each.type === type).length;
}

describe("an ensemble whose leader is killed", () => {
  beforeAll(() => connectAll(lastingMs), 300_000);
  afterAll(closeAll, 300_000);

  it("keeps every hold and every place in the queue, and every waiter is served", async () => {
    const count = share("leaders killed", 1, 50);
    const backMs: number[] = [];
    let uncertain = 0;
    for (let i = 0; i < count; i++) {
      const all = await contests();
      const leader = await ensemble.leader();
      const before = performance.now();
      await leader.kill();
      // Every client is disconnected, because the followers drop their clients when they lose their leader. If the first
      // election fails on a busy machine, some clients are disconnected a second time.
      const doubted = ({ path }: Contest): boolean =>
        told.some(({ type, name }) => type === "uncertain" && name === path);
      await eventually(() => all.every(doubted), { what: "all holders in doubt" });
      await eventually(
        () =>
          all.every(({ handle }) => handle?.state === "held") && times("uncertain") === times("recovered"),
        { what: "all holds to recover" },
      );
      backMs.push(performance.now() - before);
      uncertain += times("uncertain");
      // One server is still down.
      for (const contest of all) await contest.giveBack();
      for (const contest of all) await contest.served();
      expect(told.filter(({ type }) => type === "lost" || type === "requeued")).toEqual([]);
      await leader.restart();
      await ensemble.ready();
      await expectAllEmpty(all);
    }
    console.log(`leader killed: ${uncertain} holds in doubt, all recovered after ${spread(backMs)}`);
  });
});

describe("an ensemble whose leader is paused", () => {
  beforeAll(() => connectAll(10_000), 300_000);
  afterAll(closeAll, 300_000);

  it("never grants two at a time, and every waiter is served", async () => {
    const count = share("leaders paused", 1, 20);
    const backMs: number[] = [];
    let lost = 0;
    for (let i = 0; i < count; i++) {
      const all = await contests();
      const leader = await ensemble.leader();
      const before = performance.now();
      await leader.pause();
      await eventually(
        () =>
          all.every(({ handle }) => handle?.state === "held" || handle?.state === "lost") &&
          times("uncertain") > 0,
        { what: "all holds to be decided", withinMs: 30_000 },
      );
      await eventually(
        async () => {
          const lookers = await Promise.all(providers.map((locks) => locks.state));
          return lookers.every((state) => state === "connected");
        },
        { what: "all providers to be connected", withinMs: 30_000 },
      );
      backMs.push(performance.now() - before);
      lost += times("lost");
      for (const contest of all) await contest.giveBack();
      for (const contest of all) await contest.served();
      leader.resume();
      await ensemble.ready();
      await expectAllEmpty(all);
    }
    console.log(
      `leader paused: ${lost} of ${count * names.length} holds lost, all connected after ${spread(backMs)}`,
    );
  });
});
