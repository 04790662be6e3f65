import { eventually } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { curatorVersions } from "../support/curator/java-peer.js";
import { curatorClients, type ForeignClient, type ForeignClients, kazooClients } from "./survivors.js";
import { maxSessionTimeoutMs, startTarget, type Target, type TargetName, targetNames } from "./target.js";

const versions = await curatorVersions();

interface Stage {
  readonly name: TargetName;
  readonly target: Target;
}

/** One holder and one waiter of one kind of client, on their own lock. */
interface Pair {
  readonly what: string;
  readonly path: string;
  readonly holder: ForeignClient;
  readonly waiter: ForeignClient;
  readonly held: { readonly path: string; readonly czxid: bigint };
  readonly queued: Promise<{ path: string; czxid: bigint } | null>;
  granted(): boolean;
  release(): Promise<unknown>;
  releaseWaiter(): Promise<unknown>;
}

let lastPath = 0;

describe("holders and waiters of kazoo and Curator", () => {
  let kinds: ForeignClients[];
  const targets = new Map<TargetName, Target>();

  beforeAll(async () => {
    kinds = await Promise.all([kazooClients(), ...versions.map((version) => curatorClients(version))]);
    await Promise.all(targetNames.map(async (name) => targets.set(name, await startTarget(name))));
  });

  afterAll(async () => {
    await Promise.all((kinds ?? []).map((kind) => kind[Symbol.asyncDispose]()));
    await Promise.all([...targets.values()].map((target) => target[Symbol.asyncDispose]()));
  });

  /** Runs `body` on every target, at the same time, since it mostly waits. */
  async function onEach(body: (stage: Stage) => Promise<void>): Promise<void> {
    const runs = await Promise.allSettled(
      [...targets].map(async ([name, target]) => {
        try {
          await body({ name, target });
        } catch (error) {
          throw new Error(`with ${name}: ${(error as Error).message}`, { cause: error });
        } finally {
          target.resume();
          await target.heal();
        }
      }),
    );
    const failures = runs.flatMap((run) => (run.status === "rejected" ? [run.reason as Error] : []));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
  }

  async function pairOf({ target }: Stage, kind: ForeignClients, sessionTimeoutMs: number): Promise<Pair> {
    const path = `/survival/${++lastPath}`;
    const options = { connect: target.droppable, sessionTimeoutMs };
    const [holder, waiter] = await Promise.all([
      kind.connect({ ...options, connect: target.connectString }),
      kind.connect(options),
    ]);
    const [first, second] = await Promise.all([holder.lock(path), waiter.lock(path)]);
    const held = await first.acquire();
    if (held === null) throw new Error(`${kind.what} did not get the free lock ${path}`);
    let granted = false;
    const queued = second.acquire().then((node) => {
      granted = true;
      return node;
    });
    queued.catch(() => {}); // the code that awaits it gets the error
    await expect.poll(() => waiter.queued(path)).toBe(2);
    return {
      what: kind.what,
      path,
      holder,
      waiter,
      held,
      queued,
      granted: () => granted,
      release: () => first.release(),
      releaseWaiter: () => second.release(),
    };
  }

  function pairs(stage: Stage, sessionTimeoutMs: number): Promise<Pair[]> {
    return Promise.all(kinds.map((kind) => pairOf(stage, kind, sessionTimeoutMs)));
  }

  /** The queue is as before, and moves on at the release. */
  async function expectUnmoved(pair: Pair): Promise<void> {
    expect(await pair.waiter.queued(pair.path), pair.what).toBe(2);
    expect(pair.granted(), pair.what).toBe(false);
    await pair.release();
    expect((await pair.queued)?.czxid, pair.what).toBeGreaterThan(pair.held.czxid);
    await pair.releaseWaiter();
    expect(await pair.holder.queued(pair.path), pair.what).toBe(0);
  }

  const both = ({ holder, waiter }: Pair): ForeignClient[] => [holder, waiter];
  const ids = (clients: readonly ForeignClient[]): Promise<bigint[]> =>
    Promise.all(clients.map(async (client) => (await client.session()).id));
  const isSuspended = ({ states }: ForeignClient): boolean => states.includes("SUSPENDED");
  const isBack = (client: ForeignClient): boolean =>
    isSuspended(client) && client.states.at(-1)?.endsWith("CONNECTED") === true;

  async function until(
    what: string,
    clients: readonly ForeignClient[],
    condition: () => boolean,
  ): Promise<void> {
    // The limit is as long as the longest sessions last.
    await eventually(condition, { what, withinMs: 75_000, detail: () => statesOf(clients) });
  }

  const statesOf = (clients: readonly ForeignClient[]): string =>
    clients.map(({ states }) => states.join(" ")).join("; ");

  async function expectSessions(clients: readonly ForeignClient[], before: readonly bigint[]): Promise<void> {
    expect(await ids(clients), statesOf(clients)).toEqual(before);
  }

  it("a waiter whose connection drops comes back to its session and its place", () =>
    onEach(async (stage) => {
      const { target } = stage;
      const all = await pairs(stage, maxSessionTimeoutMs);
      const waiters = all.map(({ waiter }) => waiter);
      const sessions = await Promise.all(waiters.map((waiter) => waiter.session()));
      target.dropConnections(sessions);
      await until("waiters back", waiters, () => waiters.every(isBack));
      await expectSessions(
        waiters,
        sessions.map(({ id }) => id),
      );
      for (const pair of all) await expectUnmoved(pair);
    }));

  it("a waiter that was cut off while its predecessor went is granted when it is back", () =>
    onEach(async (stage) => {
      const { target } = stage;
      const all = await pairs(stage, maxSessionTimeoutMs);
      const waiters = all.map(({ waiter }) => waiter);
      const sessions = await Promise.all(waiters.map((waiter) => waiter.session()));
      await target.cutOff(sessions);
      await until("waiters suspended", waiters, () => waiters.every(isSuspended));
      await Promise.all(all.map((pair) => pair.release()));
      expect(all.map((pair) => pair.granted())).not.toContain(true);
      expect(waiters.some(isBack)).toBe(false);
      await target.heal();
      const nodes = await Promise.all(all.map(({ queued }) => queued));
      for (const [at, pair] of all.entries()) {
        expect(nodes[at]?.czxid, pair.what).toBeGreaterThan(pair.held.czxid);
        await pair.releaseWaiter();
        expect(await pair.holder.queued(pair.path), pair.what).toBe(0);
      }
      await expectSessions(
        waiters,
        sessions.map(({ id }) => id),
      );
    }));

  it("all keep sessions and places through a restart of the server", () =>
    onEach(async (stage) => {
      const { target } = stage;
      const all = await pairs(stage, maxSessionTimeoutMs);
      const clients = all.flatMap(both);
      const before = await ids(clients);
      await target.restart();
      await until("all back", clients, () => clients.every(isBack));
      await expectSessions(clients, before);
      for (const pair of all) await expectUnmoved(pair);
    }));

  it("all keep sessions and places through a pause that ends before their sessions do", () =>
    onEach(async (stage) => {
      const { target } = stage;
      // From the first client that is suspended to the end of the first session is a third of this time. In it this process
      // must hear of the client and resume the server.
      const all = await pairs(stage, 12_000);
      const clients = all.flatMap(both);
      const before = await ids(clients);
      await target.pause();
      // A client gives up its connection when the server has been silent for two thirds of the session.
      await until("the first suspended", clients, () => clients.some(isSuspended));
      target.resume();
      await until("all back", clients, () =>
        clients.every((client) => isBack(client) || !isSuspended(client)),
      );
      await expectSessions(clients, before);
      for (const pair of all) await expectUnmoved(pair);
    }));

  it("all lose sessions and locks in a pause that outlasts their sessions, and may come again", () =>
    onEach(async (stage) => {
      const { target } = stage;
      const options = { connect: target.droppable, sessionTimeoutMs: 2_000 };
      const clients = await Promise.all(kinds.map((kind) => kind.connect(options)));
      const path = (at: number): string => `/survival/long-pause-${at}`;
      const held = await Promise.all(
        clients.map(async (client, at) => (await client.lock(path(at))).acquire()),
      );
      const before = await ids(clients);
      await target.pause();
      const pausedAtMs = performance.now();
      await until("all suspended", clients, () => clients.every(isSuspended));
      await until(
        "a session and two ticks to be over",
        clients,
        () => performance.now() - pausedAtMs > 3_000,
      );
      // When a server resumes, it may read a client's request before it ends expired sessions, and keep that session. So all
      // clients are kept out until the sessions have ended.
      await target.keepOut();
      target.resume();
      await using witness = zookeeperLocks({ connect: target.connectString });
      await witness.ready();
      await eventually(
        async () => {
          const seen = await Promise.all(clients.map((_, at) => witness.mutex(path(at)).inspect()));
          return seen.every(({ held: holders }) => holders.length === 0);
        },
        { what: "the server to have ended the sessions", withinMs: 30_000 },
      );
      await target.heal();
      await until("all lost and back", clients, () =>
        clients.every((client) => isBack(client) && client.states.includes("LOST")),
      );
      const after = await ids(clients);
      for (const [at, client] of clients.entries()) {
        const { what } = kinds[at] as ForeignClients;
        expect(before, what).not.toContain(after[at]);
        expect(await client.queued(path(at)), what).toBe(0);
        const lock = await client.lock(path(at));
        expect((await lock.acquire({ waitMs: 5_000 }))?.czxid, what).toBeGreaterThan(held[at]?.czxid ?? 0n);
        await lock.release();
      }
    }));
});
