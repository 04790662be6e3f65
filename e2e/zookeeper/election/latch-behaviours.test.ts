import { EvictedError, InvalidArgumentError, type LeaderElection } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { aborted, expire, Leading, lasting, linked, untilLabels, waitMs } from "./candidates.js";

let paths = 0;

describe.each(targetNames)("leader election on %s", (name) => {
  let target: Target;
  let path: string;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());
  beforeEach(() => {
    path = `/latch/e${paths++}`;
  });

  const client = () => connected(target.connectString);

  it("41: a path that does not exist has no leader, and asking does not make it", async () => {
    const election = (await client()).leaderElection("/nowhere/at/all");
    expect(await election.leader()).toBeNull();
    expect(await election.participants()).toEqual([]);
    const operator = await Operator.connect(target.connectString);
    expect(await operator.exists("/nowhere")).toBe(false);
  });

  it("42: a follower whose leader leaves while it reconnects leads, by the one node that it has", async () => {
    const [leader, follower] = [await client(), await linked(target, lasting)];
    const term = await leader.leaderElection(path).campaign({ waitMs });
    const waiting = follower.locks.leaderElection(path).campaign({ waitMs, label: "follower" });
    const operator = await Operator.connect(target.connectString);
    await eventually(async () => (await operator.children(path)).length === 2, {
      what: "the follower's node",
    });
    const mine = (await operator.children(path)).find((child) => child.endsWith("1"));
    await follower.link.setMode("reset");
    await term.release();
    await follower.link.setMode("ok");
    const next = await waiting;
    expect(await operator.children(path)).toEqual([mine]);
    expect(next.token as bigint).toBeGreaterThan(term.token as bigint);
    await next.release();
  });

  it("43: a path that vanished while its leader was away is made again, and led again by a new node", async () => {
    const away = await linked(target, lasting);
    const leading = new Leading(away.locks.leaderElection(path), "phoenix");
    await leading.untilTerms(1);
    const operator = await Operator.connect(target.connectString);
    const first = await operator.onlyChild(path);
    await away.link.setMode("reset");
    await operator.delete(first);
    await operator.delete(path);
    await away.link.setMode("ok");
    await leading.untilTerms(2);
    expect(leading.terms[0]?.state).toBe("lost");
    const second = await operator.onlyChild(path);
    expect(second).not.toBe(first);
    expect(leading.leads).toBe(true);
    expect(leading.terms[1]?.token as bigint).toBeGreaterThan(leading.terms[0]?.token as bigint);
  });

  it("43: a candidate whose node is deleted while its session lives is evicted, and leaves nothing", async () => {
    const [leader, candidate] = [await client(), await client()];
    const term = await leader.leaderElection(path).campaign({ waitMs });
    const refused = expect(candidate.leaderElection(path).campaign({ waitMs })).rejects.toBeInstanceOf(
      EvictedError,
    );
    const operator = await Operator.connect(target.connectString);
    await eventually(async () => (await operator.children(path)).length === 2, {
      what: "the candidate's node",
    });
    await eventually(async () => (await candidate.leaderElection(path).participants()).length === 2, {
      what: "the candidate to have asked twice on its session, so that its watches are set",
    });
    const theirs = (await candidate.leaderElection(path).participants()).at(-1)?.id;
    await operator.delete(`${path}/${theirs}`);
    await refused;
    expect(await operator.children(path)).toHaveLength(1);
    await term.release();
  });

  it("44: a leader whose session is lost and made again does not lead beside its successor", async () => {
    const first = await linked(target);
    const [watcher, second] = [await client(), await client()];
    const one = new Leading(first.locks.leaderElection(path), "one");
    await one.untilTerms(1);
    const two = new Leading(second.leaderElection(path), "two");
    await untilLabels(watcher.leaderElection(path), "one", "two");
    await expire(target, first);
    await two.untilTerms(1);
    await untilLabels(watcher.leaderElection(path), "two", "one");
    expect(one.terms[0]?.state).toBe("lost");
    expect([one.leads, two.leads]).toEqual([false, true]);
    expect(two.terms[0]?.token as bigint).toBeGreaterThan(one.terms[0]?.token as bigint);
    two.resign();
    await one.untilTerms(2);
    await untilLabels(watcher.leaderElection(path), "one", "two");
    expect(one.terms[1]?.token as bigint).toBeGreaterThan(two.terms[0]?.token as bigint);
  });

  it("45: many who give back and stand again at once never are two leaders, and one leads in the end", async () => {
    const clients = await Promise.all([client(), client(), client(), client()]);
    let leaders = 0;
    let terms = 0;
    const lead = async (election: LeaderElection): Promise<void> => {
      const term = await election.campaign({ waitMs });
      leaders++;
      expect(leaders).toBe(1);
      await election.leader();
      terms++;
      expect(leaders).toBe(1);
      leaders--;
      await term.release();
    };
    await Promise.all(
      clients.map(async (locks) => {
        const election = locks.leaderElection(path);
        for (let round = 0; round < 20; round++) {
          // Each call checks itself: while the path does not exist yet, a client's second campaign may overtake its first.
          await Promise.all([lead(election), lead(election)]);
        }
      }),
    );
    expect(terms).toBe(4 * 20 * 2);
    const last = await (clients[0] as (typeof clients)[number])
      .leaderElection(path)
      .campaign({ waitMs, label: "last" });
    await untilLabels((clients[1] as (typeof clients)[number]).leaderElection(path), "last");
    await last.release();
  });

  it("46: a leader that goes between the follower's listing and its watch is not waited for", async () => {
    const [leader, follower] = [await client(), await linked(target, lasting)];
    const term = await leader.leaderElection(path).campaign({ waitMs });
    const listing = follower.link.holdReply({ op: "getChildren2", path });
    const waiting = follower.locks.leaderElection(path).campaign({ waitMs });
    const operator = await Operator.connect(target.connectString);
    await eventually(async () => (await operator.children(path)).length === 2, {
      what: "the follower's node",
    });
    // The held listing still shows the leader: the server read it right after the follower's create.
    await eventually(() => listing.hits.length === 1, { what: "the listing to be held back" });
    await term.release();
    listing.release();
    const next = await waiting;
    expect(await operator.children(path)).toHaveLength(1);
    expect(
      follower.link.trace.filter(({ kind, op }) => kind === "reply" && op === "getChildren2").length,
    ).toBe(2);
    await next.release();
  });

  it("47: with the connection policy session a leader stays through a break of contact, in doubt meanwhile", async () => {
    const { locks, link } = await linked(target, { sessionTimeoutMs: 8_000 });
    const term = await locks.leaderElection(path).campaign({ waitMs });
    await link.setMode("reset");
    await eventually(() => term.state === "uncertain", { what: "the doubt" });
    await link.setMode("ok");
    await eventually(() => term.state === "held", { what: "the certainty", withinMs: waitMs });
    expect(term.lost.aborted).toBe(false);
    await term.release();
  });

  it("47: with the connection policy standard a leader is deposed at once, and its node goes when contact is back", async () => {
    const { locks, link } = await linked(target, { sessionTimeoutMs: 8_000, connectionPolicy: "standard" });
    const operator = await Operator.connect(target.connectString);
    const reasons: string[] = [];
    locks.events.on("lost", ({ reason }) => reasons.push(reason));
    const term = await locks.leaderElection(path).campaign({ waitMs });
    const mutex = await locks.mutex(`${path}-mutex`).acquire({ waitMs });
    const node = await operator.onlyChild(path);
    await link.setMode("reset");
    await aborted(term.lost);
    expect(term.state).toBe("lost");
    expect(reasons).toEqual(["suspended"]);
    expect(() => term.assertHeld()).toThrow(
      expect.objectContaining({ code: "HF_LOCK_LOST", reason: "suspended" }),
    );
    // The mutex is not lost: the connection policy applies to leaders only.
    expect(mutex.state).toBe("uncertain");
    expect(await operator.exists(node), "the session lives on").toBe(true);
    await link.setMode("ok");
    await eventually(async () => !(await operator.exists(node)), {
      what: "the node to go",
      withinMs: waitMs,
    });
    await eventually(() => mutex.state === "held", { what: "the mutex to stand", withinMs: waitMs });
    const again = await locks.leaderElection(path).campaign({ waitMs });
    expect(again.token as bigint).toBeGreaterThan(term.token as bigint);
    await again.release();
    await mutex.release();
  });

  it("47: lead() under the policy standard stands again behind the others when contact is back", async () => {
    const first = await linked(target, { sessionTimeoutMs: 8_000, connectionPolicy: "standard" });
    const second = await client();
    const one = new Leading(first.locks.leaderElection(path), "one");
    await one.untilTerms(1);
    const two = new Leading(second.leaderElection(path), "two");
    await untilLabels(second.leaderElection(path), "one", "two");
    await first.link.setMode("reset");
    await aborted((one.terms[0] as (typeof one.terms)[number]).lost);
    expect(two.leads).toBe(false);
    await first.link.setMode("ok");
    await two.untilTerms(1);
    await untilLabels(second.leaderElection(path), "two", "one");
  });

  it("48: a provider that is closed before its first connection ends its candidacies; without a server, one that leads waits for it", async () => {
    const { locks, link } = await linked(target, {});
    await locks.close();
    await link.setMode("refuse");
    const { zookeeperLocks } = await import("@holdfast/zk-recipes");
    const early = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs: 4_000 });
    const refused = expect(early.leaderElection(path).campaign({ waitMs })).rejects.toMatchObject({
      code: "HF_PROVIDER_CLOSED",
    });
    await early.close();
    await refused;
    const late = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs: 4_000 });
    const leading = new Leading(late.leaderElection(path), "late");
    // The candidate gets the same error and tries again.
    await expect(late.ready()).rejects.toMatchObject({ code: "HF_BACKEND" });
    expect(leading.terms).toEqual([]);
    await link.setMode("ok");
    await leading.untilTerms(1);
    await leading.stop();
    await late.close();
  });

  it("49: candidacies that are withdrawn as they begin leave no node; two that stay leave two", async () => {
    const locks = await client();
    const election = locks.leaderElection(path);
    const operator = await Operator.connect(target.connectString);
    const over = new Error("withdrawn");
    for (let round = 0; round < 30; round++) {
      const leave = new AbortController();
      const ended = election.campaign({ signal: leave.signal }).then(
        // The candidate was elected before the abort, which then has no effect.
        (term) => term.release(),
        (error) => expect(error).toBe(over),
      );
      for (let turn = 0; turn < round % 6; turn++) await new Promise((resolve) => setImmediate(resolve));
      leave.abort(over);
      await ended;
    }
    // `campaign()` ends at the abort; the delete of its node follows later.
    await eventually(async () => (await operator.children(path)).length === 0, {
      what: "no node to be left",
    });
    const [term, second] = [await election.campaign({ waitMs }), election.campaign({ waitMs })];
    await eventually(async () => (await operator.children(path)).length === 2, { what: "both" });
    await term.release();
    await (await second).release();
  });

  it("50: one that leaves from the middle does not let in the one behind it", async () => {
    const [a, b, c] = [await client(), await client(), await client()];
    const leader = await a.leaderElection(path).campaign({ waitMs, label: "a" });
    const leave = new AbortController();
    const middle = b.leaderElection(path).campaign({ signal: leave.signal, label: "b" });
    const left = expect(middle).rejects.toThrow("left");
    await untilLabels(a.leaderElection(path), "a", "b");
    let elected = false;
    const last = c.leaderElection(path).campaign({ waitMs, label: "c" });
    void last.then(() => {
      elected = true;
    });
    await untilLabels(a.leaderElection(path), "a", "b", "c");
    leave.abort(new Error("left"));
    await left;
    await untilLabels(c.leaderElection(path), "a", "c");
    expect(elected).toBe(false);
    await leader.release();
    await (await last).release();
  });

  it("51: a resignation is not reported as a loss; closing is, once", async () => {
    const locks = await client();
    const told: string[] = [];
    locks.events.on("lost", ({ reason }) => told.push(reason));
    const resigned = await locks.leaderElection(path).campaign({ waitMs });
    const { lost } = resigned;
    await resigned.release();
    expect([lost.aborted, told]).toEqual([false, []]);
    const term = await locks.leaderElection(path).campaign({ waitMs });
    let heard = 0;
    term.lost.addEventListener("abort", () => heard++);
    await locks.close();
    expect([heard, told]).toEqual([1, ["provider-closed"]]);
    const operator = await Operator.connect(target.connectString);
    expect(await operator.children(path)).toEqual([]);
  });

  it("52: a path that is none is refused at once; a relative one is a name below root", async () => {
    const locks = await client();
    for (const bad of ["/ends/", "/a//b", "/a/../b", ""]) {
      expect(() => locks.leaderElection(bad), bad).toThrow(InvalidArgumentError);
    }
    const relative = `relative/${paths}`;
    const term = await locks.leaderElection(relative).campaign({ waitMs });
    const operator = await Operator.connect(target.connectString);
    expect(await operator.children(`/holdfast/${encodeURIComponent(relative)}`)).toHaveLength(1);
    await term.release();
  });
});
