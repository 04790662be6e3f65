import type { Participant } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { expire, linked, untilLabels, waitMs } from "./candidates.js";

let paths = 0;

describe.each(targetNames)("who observes an election on %s", (name) => {
  let target: Target;
  let path: string;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());
  beforeEach(() => {
    path = `/observed/e${paths++}`;
  });

  const client = () => connected(target.connectString);

  /** Collects what is observed until the test is over. */
  function collect(observed: AsyncIterable<Participant | null>): (string | undefined)[] {
    const seen: (string | undefined)[] = [];
    const iterator = observed[Symbol.asyncIterator]();
    onTestFinished(async () => void (await iterator.return?.()));
    void (async () => {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        seen.push(next.value?.label ?? undefined);
      }
    })();
    return seen;
  }

  async function untilSeen(seen: readonly unknown[], label: string | undefined): Promise<void> {
    await eventually(() => seen.length > 0 && seen.at(-1) === label, {
      what: `${label} to be seen`,
      withinMs: waitMs,
    });
  }

  it.each(["latch", "selector"] as const)(
    "of the form %s sees no leader, a leader, its new label, and no leader again",
    async (layout) => {
      const [leader, watcher] = [await client(), await client()];
      // The path does not exist yet.
      const seen = collect(watcher.leaderElection(path).observe());
      await eventually(() => seen.length === 1, { what: "nobody" });
      const term = await leader.leaderElection(path, { layout }).campaign({ waitMs, label: "blue" });
      await untilSeen(seen, "blue");
      await term.announce("green");
      await untilSeen(seen, "green");
      expect((await watcher.leaderElection(path).leader())?.label).toBe("green");
      await term.release();
      await untilSeen(seen, undefined);
      expect(seen).toEqual([undefined, "blue", "green", undefined]);
    },
  );

  it("goes on over a break of contact and over the end of its session", async () => {
    const [leader, watcher] = [await client(), await linked(target)];
    const seen = collect(watcher.locks.leaderElection(path).observe());
    const first = await leader.leaderElection(path).campaign({ waitMs, label: "first" });
    await untilSeen(seen, "first");
    await watcher.link.setMode("reset");
    await first.announce("while away");
    await watcher.link.setMode("ok");
    await untilSeen(seen, "while away");
    await expire(target, watcher);
    await first.release();
    const second = await leader.leaderElection(path).campaign({ waitMs, label: "second" });
    await untilSeen(seen, "second");
    await second.announce("still there");
    await untilSeen(seen, "still there");
    await second.release();
  });

  it("sets one watch on the children and one on the leader, and hears nothing of what candidates write", async () => {
    const [leader, follower, watcher] = [
      await client(),
      await client(),
      await linked(target, { sessionTimeoutMs: 8_000 }),
    ];
    const term = await leader.leaderElection(path).campaign({ waitMs, label: "leader" });
    const seen = collect(watcher.locks.leaderElection(path).observe());
    await untilSeen(seen, "leader");
    const waiting = follower.leaderElection(path).campaign({ waitMs, label: "follower" });
    await untilLabels(follower.leaderElection(path), "leader", "follower");
    // The observer gets one event for the new child. It watches the children again and reads them and the leader's data.
    await eventually(() => watcher.link.counts().events === 1, { what: "the news of the follower" });
    await watcher.locks.leaderElection(path).leader();
    watcher.link.reset();
    await term.release();
    await untilSeen(seen, "follower");
    const { events, requests } = watcher.link.counts();
    console.log(`a change of leader costs an observer ${events} events and ${requests} requests`);
    expect(events).toBe(2);
    // The observer sets watches on the children and on the next leader, and reads both. If a read came between the two
    // leaders, it reads both again.
    expect(requests).toBeLessThanOrEqual(8);
    expect(seen).toEqual(["leader", "follower"]);
    await (await waiting).release();
  });

  it("announces in one write, to all observers, and not at all once its node was deleted", async () => {
    const { locks, link } = await linked(target, { sessionTimeoutMs: 8_000 });
    const watcher = await client();
    const election = locks.leaderElection(path);
    const term = await election.campaign({ waitMs, label: "one" });
    expect(term.lost.aborted).toBe(false);
    // The read of `lost` has set the watch on the leader's own node.
    await link.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
    link.reset();
    await term.announce("two");
    expect(link.counts().byOp.setData).toBe(1);
    // The write also fires the leader's own watch, which is then set again.
    expect(link.counts().requests).toBeLessThanOrEqual(2);
    await untilLabels(watcher.leaderElection(path), "two");
    const [participant] = await watcher.leaderElection(path).participants();
    const operator = await Operator.connect(target.connectString);
    await operator.delete(`${path}/${participant?.id}`);
    await expect(term.announce("three")).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "stolen" });
    expect(term.state).toBe("lost");
    expect(await watcher.leaderElection(path).participants()).toEqual([]);
  });
});
