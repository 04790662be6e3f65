import {
  InvalidArgumentError,
  type LeaderElection,
  type Participant,
  ProviderClosedError,
} from "@holdfast/core";
import { expect } from "vitest";
import { readUntil, untilLeader, untilStanding, withLimit } from "./election-support.js";
import { type Case, follow, rejection } from "./harness.js";

type Observed = AsyncIterator<Participant | null>;

function observed(election: LeaderElection, signal?: AbortSignal): Observed {
  return election.observe(signal === undefined ? {} : { signal })[Symbol.asyncIterator]();
}

/** Cases of `observe()`. */
export const electionObserveCases: readonly Case[] = [
  [
    "observe gives the present leader at once, and then each change",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const seen = observed((await h.provider()).leaderElection(name));
      expect(await seen.next()).toEqual({ done: false, value: null });
      const asked = seen.next();
      const first = await election.campaign({ label: "first" });
      expect((await withLimit(h, "the election to be seen", asked)).value).toMatchObject({ leader: true });
      const late = observed((await h.provider()).leaderElection(name));
      expect(await late.next()).toMatchObject({ done: false, value: { label: "first", leader: true } });
      const following = election.campaign({ label: "second" });
      await untilStanding(h, election, 2);
      await first.release();
      await readUntil(h, late, "second");
      await (await following).announce("third");
      await readUntil(h, late, "third");
      await (await following).release();
      await readUntil(h, late, undefined);
      await late.return?.();
      await seen.return?.();
    },
  ],
  [
    "a follower that comes and goes is no change of the leader",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const term = await election.campaign({ label: "first" });
      const seen = observed(election);
      await readUntil(h, seen, "first");
      const next = follow(seen.next());
      const other = (await h.provider()).leaderElection(name);
      for (let i = 0; i < 3; i++) {
        const controller = new AbortController();
        const following = rejection(other.campaign({ signal: controller.signal }));
        await untilStanding(h, other, 2);
        controller.abort();
        await following;
      }
      expect(next.settled).toBe(false);
      await term.announce("second");
      await h.until("the announcement to be seen", () => next.settled);
      expect(next.value?.value).toMatchObject({ label: "second" });
      await term.release();
      await seen.return?.();
    },
  ],
  [
    "a slow observer sees the latest, not all",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const other = (await h.provider()).leaderElection(name);
      const term = await election.campaign({ label: "0" });
      const seen = observed(other);
      await readUntil(h, seen, "0");
      for (let i = 1; i <= 12; i++) await term.announce(String(i));
      await untilLeader(h, other, "12");
      await h.pass(20);
      // An announcement that was on its way may arrive before the last one.
      expect((await readUntil(h, seen, "12")).length).toBeLessThanOrEqual(2);
      await term.release();
      await seen.return?.();
    },
  ],
  [
    "an abort of its signal ends an observation plainly, whether it waits or not",
    async (h) => {
      const election = (await h.provider()).leaderElection(h.name());
      const controller = new AbortController();
      const waiting = observed(election, controller.signal);
      const idle = observed(election, controller.signal);
      expect(await waiting.next()).toEqual({ done: false, value: null });
      expect(await idle.next()).toEqual({ done: false, value: null });
      const next = waiting.next();
      controller.abort(new Error("enough"));
      const end = { done: true, value: undefined };
      expect(await withLimit(h, "the observation to end", next)).toEqual(end);
      expect(await idle.next()).toEqual(end);
      expect(await observed(election, AbortSignal.abort()).next()).toEqual(end);
      const values: (Participant | null)[] = [];
      for await (const value of election.observe({ signal: controller.signal })) values.push(value);
      expect(values).toEqual([]);
    },
  ],
  [
    "leaving the loop ends an observation, also one that waits",
    async (h) => {
      const election = (await h.provider()).leaderElection(h.name());
      const values: (Participant | null)[] = [];
      for await (const value of election.observe()) {
        values.push(value);
        break;
      }
      expect(values).toEqual([null]);
      const seen = observed(election);
      await seen.next();
      const next = seen.next();
      await seen.return?.();
      expect(await withLimit(h, "the observation to end", next)).toEqual({ done: true, value: undefined });
      expect(await seen.next()).toEqual({ done: true, value: undefined });
    },
  ],
  [
    "the end of the provider ends an observation with ProviderClosedError; wrong options are refused at once",
    async (h) => {
      const provider = await h.provider();
      const election = provider.leaderElection(h.name());
      expect(() => election.observe({ signal: {} as AbortSignal })).toThrow(InvalidArgumentError);
      expect(() => election.observe({ sginal: undefined } as object)).toThrow(/did you mean signal/);
      const seen = observed(election);
      await seen.next();
      const next = rejection(seen.next());
      await provider.close();
      expect(await next).toBeInstanceOf(ProviderClosedError);
      expect(await seen.next()).toEqual({ done: true, value: undefined });
      expect(await rejection(observed(election).next())).toBeInstanceOf(ProviderClosedError);
    },
  ],
  [
    "an observation comes through an outage, and sees what changed in it",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const election = (await h.provider()).leaderElection(name);
      const first = await election.campaign({ label: "first" });
      const seen = observed(provider.leaderElection(name));
      await readUntil(h, seen, "first");
      const reading = readUntil(h, seen, "second");
      const cut = await h.fixture.partition(provider);
      await h.until("the link to be down", () => provider.state !== "connected");
      await first.release();
      const second = await election.campaign({ label: "second" });
      cut[Symbol.dispose]();
      await reading;
      await second.release();
      await seen.return?.();
    },
  ],
];
