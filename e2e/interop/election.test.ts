import { LayoutConflictError, LockLostError, type Participant } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import type { ZooKeeperElectionOptions } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CuratorClient,
  type CuratorLeaderLatch,
  type CuratorLeaderSelector,
  curatorVersionsInShare,
} from "../support/curator/java-peer.js";
import { share } from "../support/share.js";
import { ContentionLog } from "./contention-log.js";
import { InteropFixture, watched } from "./fixture.js";
import { behind } from "./gate.js";
import { contendBy } from "./our-contenders.js";
import { shape } from "./shape.js";

const waitMs = 30_000;
type Layout = NonNullable<ZooKeeperElectionOptions["layout"]>;
const curatorClass = { latch: "LeaderLatch", selector: "LeaderSelector" } as const;
const layouts: readonly Layout[] = ["latch", "selector"];

describe.each(await curatorVersionsInShare())("an election together with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  /** Whether the server has a watch of this client on the data of the node. */
  async function watches(of: CuratorClient, node: string): Promise<boolean> {
    // Below each path stand the sessions that watch it, one a line.
    const [, below = ""] = `\n${await fixture.server.fourLetter("wchp")}`.split(`\n${node}\n`);
    const sessions = /^(?:\t0x[0-9a-f]+\n)*/.exec(below)?.[0] ?? "";
    return sessions.split("\n").includes(`\t0x${(await of.session()).id.toString(16)}`);
  }

  describe.each(layouts)("in the layout %s", (layout) => {
    const nameOfPath = (what: string): string => `/election/${layout}/${what}`;

    /** Makes a candidate of Curator, but does not start it. */
    function candidate(
      path: string,
      id: string,
      from: CuratorClient = client,
    ): Promise<CuratorLeaderLatch | CuratorLeaderSelector> {
      return layout === "latch" ? from.leaderLatch(path, id) : from.leaderSelector(path, id);
    }

    const labels = (participants: readonly Participant[]): unknown[] =>
      participants.map(({ label, leader }) => ({ id: label ?? "", leader }));

    it("ours stands behind Curator's leader, leads when that goes, and both see both by their ids", async () => {
      const path = nameOfPath("theirs-first");
      const theirs = await candidate(path, "theirs");
      await theirs.start();
      await expect.poll(() => theirs.hasLeadership()).toBe(true);
      const election = (await fixture.ours()).leaderElection(path, { layout });
      expect(labels([(await election.leader()) as Participant])).toEqual([{ id: "theirs", leader: true }]);

      const standing = watched(election.campaign({ waitMs, label: "ours" }));
      const both = [
        { id: "theirs", leader: true },
        { id: "ours", leader: false },
      ];
      await expect.poll(() => theirs.participants()).toEqual(both);
      expect(labels(await election.participants())).toEqual(both);
      expect(standing.granted).toBe(false);
      await theirs.close();
      const term = await standing.grant;
      term.assertHeld();
      const watcher = await candidate(path, "watcher");
      expect(await watcher.leader()).toEqual({ id: "ours", leader: true });
      expect(await term.release()).toBe("released");
      expect(await watcher.leader()).toBeNull();
      expect(await election.leader()).toBeNull();
    });

    it("Curator stands behind our leader, and leads when ours resigns", async () => {
      const path = nameOfPath("ours-first");
      const election = (await fixture.ours()).leaderElection(path, { layout });
      const term = await election.campaign({ waitMs, label: "ours" });
      const [, ahead] = await client.dump(path);
      const [first, second] = [await candidate(path, "first"), await candidate(path, "second")];
      await first.start();
      // If the node ahead goes before Curator's latch watches it, the latch stands anew, behind the second one.
      await expect.poll(() => watches(client, ahead?.path ?? "")).toBe(true);
      expect(await first.participants()).toHaveLength(2);
      await second.start();
      await expect.poll(() => first.participants()).toHaveLength(3);
      expect(await first.leader()).toEqual({ id: "ours", leader: true });
      // Ours reads from the same server, so it sees the same candidates.
      expect(labels(await election.participants())).toEqual([
        { id: "ours", leader: true },
        { id: "first", leader: false },
        { id: "second", leader: false },
      ]);
      expect([...first.events, ...second.events]).toEqual([]);
      await term.release();
      await expect.poll(() => first.hasLeadership()).toBe(true);
      expect(await second.hasLeadership()).toBe(false);
      await first.close();
      await expect.poll(() => second.hasLeadership()).toBe(true);
      await second.close();
    });

    it("what our leader announces is its id to Curator", async () => {
      const path = nameOfPath("announced");
      const term = await (await fixture.ours())
        .leaderElection(path, { layout })
        .campaign({ label: "before" });
      const watcher = await candidate(path, "watcher");
      expect(await watcher.leader()).toEqual({ id: "before", leader: true });
      await term.announce("after");
      expect(await watcher.leader()).toEqual({ id: "after", leader: true });
      await term.release();
    });

    it("observe() tells of Curator's leaders as they come and go", async () => {
      const path = nameOfPath("observed");
      const election = (await fixture.ours()).leaderElection(path, { layout });
      const end = new AbortController();
      const leaders = election.observe({ signal: end.signal })[Symbol.asyncIterator]();
      let last: Participant | null | undefined;
      // If the node ahead goes before Curator's latch watches it, the latch stands anew with another node. Then its label
      // comes twice.
      const next = async (): Promise<string | null | undefined> => {
        const before = last;
        const { value } = await leaders.next();
        expect(value).not.toEqual(before);
        last = value as Participant | null;
        return last !== null && last.label === before?.label ? await next() : (last?.label ?? null);
      };
      expect(await next()).toBeNull();
      const [first, second] = [await candidate(path, "first"), await candidate(path, "second")];
      await first.start();
      expect(await next()).toBe("first");
      await second.start();
      await expect.poll(() => second.participants()).toHaveLength(2);
      await first.close();
      expect(await next()).toBe("second");
      await second.close();
      expect(await next()).toBeNull();
      end.abort();
      expect((await leaders.next()).done).toBe(true);
    });

    it("makes the same tree, node by node and byte by byte, with a leader and two that wait", async () => {
      const theirPath = `/election-curator/${layout}`;
      const ourPath = `/election-ours/${layout}`;
      // A selector without an id writes its host's address, which the test does not know.
      const ids = ["first", layout === "latch" ? "" : "second", "dritte ü"];
      const theirs: (CuratorLeaderLatch | CuratorLeaderSelector)[] = [];
      const ours: ReturnType<
        ReturnType<Awaited<ReturnType<typeof fixture.ours>>["leaderElection"]>["campaign"]
      >[] = [];
      for (const [at, id] of ids.entries()) {
        const standing = await candidate(theirPath, id, await fixture.curator());
        theirs.push(standing);
        await standing.start();
        const election = (await fixture.ours()).leaderElection(ourPath, { layout });
        ours.push(election.campaign({ waitMs, ...(id === "" ? {} : { label: id }) }));
        await expect.poll(() => standing.participants()).toHaveLength(at + 1);
        await expect.poll(() => election.participants()).toHaveLength(at + 1);
      }
      const exactly = { numbers: true, data: true };
      const ourShape = shape(await client.dump(ourPath), ourPath, exactly);
      expect(ourShape).toEqual(shape(await client.dump(theirPath), theirPath, exactly));
      const base = layout === "latch" ? "latch" : "lock";
      const bytes = (text: string): string => JSON.stringify(Buffer.from(text).toString("latin1"));
      expect(ourShape.slice(1)).toEqual(
        ids.map(
          (id, at) =>
            `/_c_<uuid>-${base}-000000000${at} ephemeral session ${at + 1} 31:world:anyone ${bytes(id)}`,
        ),
      );
      for (const each of theirs) await each.close();
      for (const each of ours) await (await each).release();
    });

    it("ours leads when the session of Curator's leader is ended", async () => {
      const path = nameOfPath("their-session");
      const victim = await fixture.curator();
      const theirs = await candidate(path, "theirs", victim);
      await theirs.start();
      await expect.poll(() => theirs.hasLeadership()).toBe(true);
      const election = (await fixture.ours()).leaderElection(path, { layout });
      const standing = watched(election.campaign({ waitMs, label: "ours" }));
      await expect.poll(() => theirs.participants()).toHaveLength(2);
      expect(standing.granted).toBe(false);
      await fixture.expire(await victim.session());
      const term = await standing.grant;
      term.assertHeld();
      await expect.poll(() => theirs.hasLeadership(), { timeout: 10_000 }).toBe(false);
      if (layout === "latch") {
        // Curator's latch queues again by itself, behind ours.
        const both = [
          { id: "ours", leader: true },
          { id: "theirs", leader: false },
        ];
        await expect.poll(() => theirs.participants(), { timeout: 10_000 }).toEqual(both);
      }
      await theirs.close();
      await term.release();
    });

    it("Curator leads when the session of our leader is ended, and ours hears that it is deposed", async () => {
      const path = nameOfPath("our-session");
      const mortal = await fixture.oursOverClient(8_000);
      const term = await mortal.locks.leaderElection(path, { layout }).campaign({ waitMs });
      const { lost } = term;
      const theirs = await candidate(path, "theirs");
      await theirs.start();
      await expect.poll(() => theirs.participants()).toHaveLength(2);
      expect(await theirs.hasLeadership()).toBe(false);
      await fixture.expire(mortal.session());
      await expect.poll(() => theirs.hasLeadership(), { timeout: 10_000 }).toBe(true);
      await expect.poll(() => lost.aborted, { timeout: 10_000, interval: 5 }).toBe(true);
      expect(lost.reason).toBeInstanceOf(LockLostError);
      await expect(term.announce("still here?")).rejects.toBeInstanceOf(LockLostError);
      await theirs.close();
    });

    it(`refuses to stand among candidates of the other layout`, async () => {
      const path = nameOfPath("mixed-up");
      const theirs = await candidate(path, "theirs");
      await theirs.start();
      await expect.poll(() => theirs.hasLeadership()).toBe(true);
      const locks = await fixture.ours();
      const wrong = locks.leaderElection(path, { layout: layout === "latch" ? "selector" : "latch" });
      await expect(wrong.campaign({ waitMs: 5_000 })).rejects.toBeInstanceOf(LayoutConflictError);
      // Such a view may still read the leader.
      expect((await wrong.leader())?.label).toBe("theirs");
      expect(await theirs.participants()).toHaveLength(1);
      await theirs.close();
    });

    const fullTerms = 1_000;
    it(
      `one leader at a time with Curator's ${curatorClass[layout]}: no update of a file is lost`,
      async () => {
        const what = `terms with Curator ${fixture.java.curatorVersion}'s ${curatorClass[layout]}`;
        const total = share(what, 40, fullTerms);
        const withinMs = 60_000 + total * 200;
        await using log = await ContentionLog.start();
        const contention = { path: nameOfPath("count"), ...log.files, grants: total / 4 };
        const clients = [client, await fixture.curator()];
        const providers = [await fixture.ours(), await fixture.ours()];
        const election = (await fixture.ours()).leaderElection(contention.path, { layout });
        const term = await election.campaign({ waitMs });
        const gate = {
          queued: async () => (await election.participants()).length - 1,
          open: () => term.release(),
        };
        await behind(gate, [
          ...clients.map((each, at) =>
            each.contend({ ...contention, label: `curator-${at}` }, withinMs, layout),
          ),
          ...providers.map((locks, at) => {
            const label = `ours-${at}`;
            const election = locks.leaderElection(contention.path, { layout });
            return contendBy((wait) => election.campaign({ ...wait, label }), { ...contention, label });
          }),
        ]);
        const terms = await log.expectOrderly(total);
        const kind = (at: number): string | undefined => terms[at]?.label.slice(0, 4);
        const acrossKinds = terms.filter((_, at) => at > 0 && kind(at) !== kind(at - 1)).length;
        console.log(`${total} terms, ${acrossKinds} hand-overs between Curator and us`);
        expect(acrossKinds).toBeGreaterThan(total / 10);
      },
      60_000 + fullTerms * 250,
    );
  });

  it("every candidate leads once before any leads twice, ours by lead() and Curator's by auto-requeue", async () => {
    const path = "/election/rounds";
    const rounds = 3;
    const gate = await client.mutex(path);
    await gate.acquire();
    const observer = await client.leaderSelector(path, "observer");
    const standing = async (): Promise<number> => (await observer.participants()).length;
    const terms: string[] = [];
    const over = new AbortController();

    /** One term: leads until all candidates have queued again. */
    async function term(label: string): Promise<void> {
      terms.push(label);
      await eventually(async () => (await standing()) === 4, { what: "all to stand again" });
      if (terms.length === 4 * rounds) over.abort();
    }

    const work: Promise<void>[] = [];
    const selectors: CuratorLeaderSelector[] = [];
    for (const [at, label] of ["ours-0", "curator-0", "ours-1", "curator-1"].entries()) {
      if (label.startsWith("ours")) {
        const election = (await fixture.ours()).leaderElection(path, { layout: "selector" });
        work.push(election.lead({ signal: over.signal, label }, () => term(label)));
      } else {
        const each = await fixture.curator();
        const selector = await each.leaderSelector(path, label, { autoRequeue: true });
        selectors.push(selector);
        await selector.start();
        const served = async (): Promise<void> => {
          for (let count = 1; ; count += 1) {
            await eventually(async () => over.signal.aborted || selector.terms >= count, {
              what: `term ${count} of ${label}`,
              withinMs: 30_000,
            });
            if (over.signal.aborted) return;
            await term(label);
            if (!over.signal.aborted) await selector.resign();
          }
        };
        work.push(served());
      }
      await expect.poll(standing).toBe(at + 2);
    }
    await gate.release();
    await Promise.all(work);
    const round = ["ours-0", "curator-0", "ours-1", "curator-1"];
    expect(terms).toEqual([...round, ...round, ...round]);
    await Promise.all(selectors.map((selector) => selector.close()));
    await expect.poll(standing).toBe(0);
  });
});
