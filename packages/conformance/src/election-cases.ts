import {
  AcquireTimeoutError,
  InvalidArgumentError,
  LockLostError,
  NotHeldError,
  ProviderClosedError,
} from "@holdfast/core";
import { expect } from "vitest";
import { depose, untilLabels, untilLeader, untilStanding } from "./election-support.js";
import { type Case, follow, rejection, vainMs } from "./harness.js";

/** Cases of candidates that stand once: their terms, their deposition, and what other clients see. */
export const electionCases: readonly Case[] = [
  [
    "a candidate that stands alone leads, and all clients see it",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const election = provider.leaderElection(name);
      const other = (await h.provider()).leaderElection(name);
      expect(await other.leader()).toBeNull();
      expect(await other.participants()).toEqual([]);
      const term = await election.campaign({ label: "first" });
      expect(term).toMatchObject({ name, mode: "exclusive", state: "held" });
      expect(term.token === null).toBe(provider.capabilities.fencing === "none");
      term.assertHeld();
      await term.confirm();
      const leader = await other.leader();
      expect(leader).toMatchObject({ label: "first", leader: true });
      expect(await election.leader()).toEqual(leader);
      expect(await other.participants()).toEqual([leader]);
      expect(await term.release()).toBe("released");
      await untilLabels(h, other, []);
      expect(await other.leader()).toBeNull();
    },
  ],
  [
    "followers wait, and a resignation hands over to one of them with a higher token",
    async (h) => {
      const name = h.name();
      const first = await (await h.provider()).leaderElection(name).campaign({ label: "first" });
      const election = (await h.provider()).leaderElection(name);
      const following = election.campaign({ label: "second" });
      const seen = follow(following);
      await untilStanding(h, election, 2);
      expect(seen.settled).toBe(false);
      await first.confirm();
      expect(await election.leader()).toMatchObject({ label: "first" });
      await first.release();
      const second = await following;
      await untilLeader(h, election, "second");
      if (first.token !== null) expect(second.token).toBeGreaterThan(first.token);
      await second.release();
    },
  ],
  [
    "participants are listed once each, the leader first, then in the order in which they stand, where there is one",
    async (h) => {
      const name = h.name();
      const providers = [await h.provider(), await h.provider(), await h.provider()];
      const viewer = providers[2]?.leaderElection(name) ?? raise();
      const standing = [];
      for (const [i, provider] of providers.entries()) {
        standing.push(provider.leaderElection(name).campaign({ label: `number ${i}` }));
        await untilStanding(h, viewer, i + 1);
      }
      const seen = await viewer.participants();
      expect(seen.map((each) => each.leader)).toEqual([true, false, false]);
      expect(new Set(seen.map((each) => each.id)).size).toBe(3);
      const labels = ["number 0", "number 1", "number 2"];
      const fifo = h.isFifo(providers[0] ?? raise());
      if (fifo) expect(seen.map((each) => each.label)).toEqual(labels);
      else expect(seen.map((each) => each.label).sort()).toEqual(labels);
      expect((await viewer.participants()).map((each) => each.id)).toEqual(seen.map((each) => each.id));
      for (const each of fifo ? standing : []) await (await each).release();
      if (!fifo) await Promise.all(standing.map(async (each) => (await each).release()));
      await untilLabels(h, viewer, []);
    },
  ],
  [
    "a deposed leader hears of it, another leads, and it may stand again, at the tail, as a new participant",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const first = await election.campaign({ label: "first" });
      const id = (await election.leader())?.id;
      const other = (await h.provider()).leaderElection(name);
      const following = other.campaign({ label: "second" });
      await untilStanding(h, other, 2);
      await depose(h, first);
      expect(first.lost.reason).toBeInstanceOf(LockLostError);
      const second = await following;
      expect(await first.release()).toBe("lost");
      await second.confirm();
      const again = election.campaign({ label: "again" });
      await untilLabels(h, other, ["second", "again"]);
      await second.release();
      const term = await again;
      await term.confirm();
      expect((await other.leader())?.id).not.toBe(id);
      await term.release();
    },
  ],
  [
    "giving up a candidacy leaves nothing behind",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const term = await election.campaign({ label: "leader" });
      const other = (await h.provider()).leaderElection(name);
      expect(await rejection(other.campaign({ waitMs: vainMs }))).toBeInstanceOf(AcquireTimeoutError);
      expect(await rejection(other.campaign({ waitMs: 0 }))).toBeInstanceOf(AcquireTimeoutError);
      const controller = new AbortController();
      const aborted = rejection(other.campaign({ signal: controller.signal }));
      await untilStanding(h, election, 2);
      const reason = new Error("not running");
      controller.abort(reason);
      expect(await aborted).toBe(reason);
      await untilLabels(h, election, ["leader"]);
      await term.confirm();
      await term.release();
    },
  ],
  [
    "what a leader announces is what the others see, without an election, and goes with its term",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const other = (await h.provider()).leaderElection(name);
      const term = await election.campaign({ label: "before" });
      const before = await other.leader();
      const following = other.campaign({ label: "next" });
      await untilStanding(h, other, 2);
      await term.announce("after");
      await untilLabels(h, other, ["after", "next"]);
      expect(await election.leader()).toMatchObject({ label: "after" });
      expect((await other.leader())?.id).toBe(before?.id);
      await term.confirm();
      expect(await rejection(term.announce(7 as unknown as string))).toBeInstanceOf(InvalidArgumentError);
      await term.release();
      expect(await rejection(term.announce("too late"))).toBeInstanceOf(NotHeldError);
      const next = await following;
      await untilLabels(h, election, ["next"]);
      await depose(h, next);
      expect(await rejection(next.announce("too late"))).toBe(next.lost.reason);
      await untilLabels(h, election, []);
    },
  ],
  [
    "close deposes the leader, ends its candidacies, and takes no new work",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const election = provider.leaderElection(name);
      const term = await election.campaign();
      const { lost } = term;
      const following = rejection(election.campaign());
      await untilStanding(h, election, 2);
      expect(await provider.close()).toEqual({ released: 1, unconfirmed: [] });
      expect(lost.reason).toMatchObject({ code: "HF_LOCK_LOST", reason: "provider-closed" });
      expect(await following).toBeInstanceOf(ProviderClosedError);
      for (const refused of [election.campaign(), election.leader(), election.participants()]) {
        expect(await rejection(refused)).toBeInstanceOf(ProviderClosedError);
      }
      expect(await rejection(term.announce("late"))).toBe(lost.reason);
      const next = await (await h.provider()).leaderElection(name).campaign();
      await next.release();
    },
  ],
];

function raise(): never {
  throw new Error("no provider");
}
