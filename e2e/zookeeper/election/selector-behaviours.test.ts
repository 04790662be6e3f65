import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { expire, Leading, linked, untilLabels, waitMs } from "./candidates.js";

let paths = 0;

describe.each(targetNames)("leading by turns on %s", (name) => {
  let target: Target;
  let path: string;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());
  beforeEach(() => {
    path = `/selector/e${paths++}`;
  });

  const client = () => connected(target.connectString);

  it("53: an abort ends leadership and gives it back, without an error", async () => {
    const locks = await client();
    const operator = await Operator.connect(target.connectString);
    const leading = new Leading(locks.leaderElection(path, { layout: "selector" }), "one");
    await leading.untilTerms(1);
    expect(await operator.children(path)).toHaveLength(1);
    await leading.stop();
    expect(leading.terms.map(({ state }) => state)).toEqual(["released"]);
    expect(await operator.children(path)).toEqual([]);
  });

  it("54: an abort during an outage ends it too, and the node goes when contact is back", async () => {
    const { locks, link } = await linked(target, { sessionTimeoutMs: 8_000 });
    const operator = await Operator.connect(target.connectString);
    const leading = new Leading(locks.leaderElection(path), "one");
    await leading.untilTerms(1);
    const node = await operator.onlyChild(path);
    await link.setMode("reset");
    await eventually(() => leading.terms[0]?.state === "uncertain", { what: "the outage" });
    const stopped = leading.stop();
    expect(await operator.exists(node)).toBe(true);
    await link.setMode("ok");
    await eventually(async () => !(await operator.exists(node)), {
      what: "the node to go",
      withinMs: waitMs,
    });
    await stopped;
  });

  it("55: one that was stopped stands again and leads, every time", async () => {
    const locks = await client();
    const other = await client();
    const election = locks.leaderElection(path);
    for (let round = 0; round < 10; round++) {
      const leading = new Leading(election, `round ${round}`);
      await leading.untilTerms(1);
      await untilLabels(other.leaderElection(path), `round ${round}`);
      await leading.stop();
      expect(await other.leaderElection(path).leader()).toBeNull();
    }
  });

  it("56: a session that ends between the election and its news gets no body run; the next one stands anew", async () => {
    const candidate = await linked(target);
    const operator = await Operator.connect(target.connectString);
    // Makes the parents, so that the candidate's first create succeeds. The answer to that create is the one that is held.
    await (await candidate.locks.leaderElection(path).campaign({ waitMs })).release();
    const lost = new Promise<void>((resolve) => {
      candidate.locks.events.on("session-state", ({ state }) => {
        if (state === "lost") resolve();
      });
    });
    candidate.link.holdReply({ op: "create2" });
    const leading = new Leading(candidate.locks.leaderElection(path), "late");
    await eventually(async () => (await operator.children(path)).length === 1, { what: "its node" });
    const first = await operator.onlyChild(path);
    await expire(target, candidate);
    await eventually(async () => !(await operator.exists(first)), {
      what: "its node to go with the session",
    });
    await lost;
    expect(leading.terms).toEqual([]);
    candidate.link.clearRules();
    await leading.untilTerms(1);
    expect(leading.terms).toHaveLength(1);
    expect(await operator.onlyChild(path)).not.toBe(first);
  });

  it("57: every candidate leads once before any leads twice", async () => {
    const labels = ["a", "b", "c", "d", "e"];
    const order: string[] = [];
    const elections = await Promise.all(labels.map(async () => (await client()).leaderElection(path)));
    const candidates: Leading[] = [];
    for (const [at, election] of elections.entries()) {
      const label = labels[at] as string;
      candidates.push(new Leading(election, label, () => order.push(label)));
      await untilLabels(election, ...labels.slice(0, at + 1));
    }
    for (let turn = 0; turn < 3 * labels.length; turn++) {
      await eventually(() => order.length === turn + 1, { what: `turn ${turn}`, withinMs: waitMs });
      // The candidate that resigned must stand at the tail again before the next one resigns.
      await eventually(async () => (await elections[0]?.participants())?.length === labels.length, {
        what: "all",
      });
      (candidates[labels.indexOf(order.at(-1) as string)] as Leading).resign();
    }
    expect(order.slice(0, 15)).toEqual([...labels, ...labels, ...labels]);
  });

  it("58: another one leads after the leader's session is ended, its provider closed, and the server restarted", async () => {
    const first = await linked(target, { sessionTimeoutMs: 8_000 });
    const [second, third] = [await linked(target), await linked(target, { sessionTimeoutMs: 8_000 })];
    const one = new Leading(first.locks.leaderElection(path), "one");
    await one.untilTerms(1);
    const watcher = await client();
    const two = new Leading(second.locks.leaderElection(path), "two");
    await untilLabels(watcher.leaderElection(path), "one", "two");
    const three = new Leading(third.locks.leaderElection(path), "three");
    await untilLabels(watcher.leaderElection(path), "one", "two", "three");
    await expire(target, first);
    await two.untilTerms(1);
    const closing = two.stop().catch(() => {});
    await second.locks.close();
    await closing;
    await three.untilTerms(1);
    await untilLabels(watcher.leaderElection(path), "three", "one");
    await target.restart();
    await eventually(() => three.leads || one.leads, {
      what: "a leader after the restart",
      withinMs: waitMs,
    });
    await eventually(async () => (await watcher.leaderElection(path).leader()) !== null, {
      what: "everybody to see it",
      withinMs: waitMs,
    });
    await eventually(() => [one.leads, three.leads].filter(Boolean).length === 1, {
      what: "one of them to lead after the restart",
      withinMs: waitMs,
    });
  });

  it("59: candidates over a link that flaps leave no node behind", async () => {
    const { locks, link } = await linked(target, { sessionTimeoutMs: 8_000 });
    const operator = await Operator.connect(target.connectString);
    const over = new Error("enough");
    const ends: Promise<unknown>[] = [];
    for (let round = 0; round < 12; round++) {
      const leave = new AbortController();
      const standing = locks.leaderElection(path).campaign({ signal: leave.signal });
      ends.push(
        standing.then(
          (term) => term.release(),
          (error) => expect([over, "HF_BACKEND"]).toContain(error === over ? over : error.code),
        ),
      );
      // Depending on the round, the cut falls into the create, its answer or the listing.
      for (let turn = 0; turn < round % 4; turn++) await new Promise((resolve) => setImmediate(resolve));
      await link.setMode("reset");
      leave.abort(over);
      await link.setMode("ok");
      await locks.ready({ waitMs });
    }
    await Promise.all(ends);
    await eventually(async () => (await operator.children(path)).length === 0, {
      what: "no node",
      withinMs: waitMs,
    });
    const last = await locks.leaderElection(path).campaign({ waitMs });
    expect(await operator.children(path)).toHaveLength(1);
    await last.release();
  });
});
