import { setTimeout as sleep } from "node:timers/promises";
import {
  AcquireTimeoutError,
  InvalidArgumentError,
  type LeadershipHandle,
  LockLostError,
  type LockProvider,
  ProviderClosedError,
  type ScopeContext,
} from "@holdfast/core";
import { expect } from "vitest";
import { depose, untilLabels, untilLeader, untilStanding } from "./election-support.js";
import { type Case, follow, rejection, vainMs } from "./harness.js";

/** Settles with the signal, like a body that passes its signal on. */
function untilTold(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Cases of `lead()`. */
export const electionLeadCases: readonly Case[] = [
  [
    "one candidate at a time leads, and each leads once before any leads twice, where the backend keeps the order",
    async (h) => {
      const name = h.name();
      const controller = new AbortController();
      const terms: number[] = [];
      let inside = 0;
      let most = 0;
      const providers = [await h.provider(), await h.provider(), await h.provider()];
      const loops = providers.map((provider, i) => {
        const election = provider.leaderElection(name);
        return election.lead({ signal: controller.signal, label: `number ${i}` }, async () => {
          most = Math.max(most, ++inside);
          terms.push(i);
          if (terms.length === 9) controller.abort("enough");
          // The term lasts until all three stand, the leader before included: a term that ends sooner would show no order.
          else await untilStanding(h, election, 3);
          inside--;
        });
      });
      await Promise.all(loops);
      expect(most).toBe(1);
      expect(terms.length).toBe(9);
      if (h.isFifo(providers[0] as LockProvider)) {
        const round = terms.slice(0, 3);
        expect([...round].sort()).toEqual([0, 1, 2]);
        expect(terms).toEqual([...round, ...round, ...round]);
      }
    },
  ],
  [
    "a deposed leader's body sees its signal aborted, and the leader stands again",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const controller = new AbortController();
      const reasons: unknown[] = [];
      const tokens: (bigint | null)[] = [];
      const ways = ["signal", "node", "assertHeld", "value"];
      const leading = election.lead({ signal: controller.signal }, async (term, { signal }) => {
        const way = ways[tokens.length];
        tokens.push(term.token);
        if (way === undefined) {
          controller.abort("enough");
          return;
        }
        // Some bodies pass their signal on to a function of this test, some to a function of Node, and some to none.
        const told = way === "node" ? sleep(3_600_000, undefined, { signal, ref: false }) : untilTold(signal);
        const outcome = follow(told);
        await depose(h, term);
        await h.until("the body to be told", () => outcome.settled);
        reasons.push(signal.reason);
        if (way === "signal" || way === "node") await told;
        if (way === "assertHeld") term.assertHeld();
      });
      await leading;
      expect(reasons).toHaveLength(4);
      for (const reason of reasons) expect(reason).toBeInstanceOf(LockLostError);
      expect(new Set(reasons).size).toBe(4);
      expect(tokens).toHaveLength(5);
      if (tokens[0] !== null)
        expect([...tokens].sort((a, b) => Number((a ?? 0n) - (b ?? 0n)))).toEqual(tokens);
      await untilLabels(h, election, []);
    },
  ],
  [
    "lead resolves when its signal aborts while it leads, once its body has ended and nothing is held",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const other = (await h.provider()).leaderElection(name);
      const released = h.record(provider, "released", name);
      const controller = new AbortController();
      let begun = false;
      let ending = false;
      const leading = provider
        .leaderElection(name)
        .lead({ signal: controller.signal, label: "leader" }, async (term, { signal }) => {
          begun = true;
          await rejection(untilTold(signal));
          expect(signal.reason).toBe("enough");
          expect(term.state).toBe("held");
          ending = true;
          throw signal.reason;
        });
      const atTheEnd = leading.then((value) => {
        return { value, ending, released: released.length, holds: provider.holds().length };
      });
      const seen = follow(atTheEnd);
      await untilLeader(h, other, "leader");
      // Other clients may see the leader before its own answer has arrived.
      await h.until("the body to begin", () => begun);
      expect(seen.settled).toBe(false);
      controller.abort("enough");
      expect(await atTheEnd).toEqual({ value: undefined, ending: true, released: 1, holds: 0 });
      expect(released.map((event) => event.outcome)).toEqual(["released"]);
      expect(await other.participants()).toEqual([]);
    },
  ],
  [
    "lead resolves when its signal aborts while it stands, and leaves nothing behind",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const term = await election.campaign({ label: "leader" });
      const provider = await h.provider();
      const controller = new AbortController();
      let ran = false;
      const standing = provider.leaderElection(name).lead({ signal: controller.signal }, () => {
        ran = true;
      });
      await untilStanding(h, election, 2);
      controller.abort();
      expect(await standing).toBeUndefined();
      expect(ran).toBe(false);
      await untilLabels(h, election, ["leader"]);
      const started = h.record(provider, "acquire-started", name);
      await provider.leaderElection(name).lead({ signal: controller.signal }, () => {});
      expect(started).toEqual([]);
      await term.release();
    },
  ],
  [
    "the body's own error ends lead, after the term was given back",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const election = provider.leaderElection(name);
      const own = new Error("from the body");
      const { signal } = new AbortController();
      const failing = election.lead({ signal }, () => Promise.reject(own));
      const seen = failing.catch((error) => ({ error, holds: provider.holds().length }));
      expect(await seen).toEqual({ error: own, holds: 0 });
      await untilLabels(h, election, []);
      // The body's error also comes out of a term that was lost, and of a call whose end the caller has asked for.
      const controller = new AbortController();
      const lost = election.lead({ signal: controller.signal }, async (term) => {
        await depose(h, term);
        throw own;
      });
      expect(await rejection(lost)).toBe(own);
      const late = election.lead({ signal: controller.signal }, async () => {
        controller.abort("enough");
        throw own;
      });
      expect(await rejection(late)).toBe(own);
      // The loss of another term, which the body throws, counts as the body's own error too.
      const foreign = await provider.leaderElection(h.name()).campaign();
      await depose(h, foreign);
      expect(await rejection(election.lead({ signal }, () => foreign.assertHeld()))).toBe(
        foreign.lost.reason,
      );
      await untilLabels(h, election, []);
    },
  ],
  [
    "a body may resign by itself, and it stands again",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const controller = new AbortController();
      const seen: LeadershipHandle[] = [];
      await election.lead({ signal: controller.signal }, async (term) => {
        seen.push(term);
        if (seen.length === 3) controller.abort("enough");
        expect(await term.release()).toBe("released");
      });
      expect(seen.map((term) => term.state)).toEqual(["released", "released", "released"]);
    },
  ],
  [
    "bodies that return at once leave the process room to abort them",
    async (h) => {
      const election = (await h.provider()).leaderElection(h.name());
      const controller = new AbortController();
      let terms = 0;
      const leading = election.lead({ signal: controller.signal }, () => {
        terms++;
      });
      await h.until("some terms", () => terms >= 3);
      controller.abort("enough");
      await leading;
      await untilLabels(h, election, []);
    },
  ],
  [
    "lead goes on after an outage",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const controller = new AbortController();
      let now: LeadershipHandle | undefined;
      const leading = provider
        .leaderElection(name)
        .lead({ signal: controller.signal }, async (term, context) => {
          now = term;
          await untilTold(context.signal);
        });
      await h.until("the first term", () => now !== undefined);
      const cut = await h.fixture.partition(provider);
      await h.until("the link to be down", () => provider.state !== "connected");
      cut[Symbol.dispose]();
      // This is the same term, or another one if the old one was given up when contact broke.
      await h.until("a term after the outage", () => provider.state === "connected" && now?.state === "held");
      await now?.confirm();
      controller.abort("enough");
      await leading;
      await untilLabels(h, (await h.provider()).leaderElection(name), []);
    },
  ],
  [
    "lead resolves when its provider closes: a leader is deposed, a candidate leaves, a later lead does nothing",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const { signal } = new AbortController();
      let term: LeadershipHandle | undefined;
      const leading = provider.leaderElection(name).lead({ signal }, async (given, context) => {
        term = given;
        await untilTold(context.signal);
      });
      const following = provider.leaderElection(name).lead({ signal }, () => {});
      await untilStanding(h, provider.leaderElection(name), 2);
      await h.until("a term", () => term !== undefined);
      await provider.close();
      expect(await Promise.all([leading, following])).toEqual([undefined, undefined]);
      expect(term?.lost.reason).toMatchObject({ reason: "provider-closed" });
      let ran = false;
      await provider.leaderElection(name).lead({ signal }, () => {
        ran = true;
      });
      expect(ran).toBe(false);
    },
  ],
  [
    "what a body hears of its closing provider through other locks is no error of lead; its own error is",
    async (h) => {
      const provider = await h.provider();
      const { signal } = new AbortController();
      const own = new Error("from the body");
      let inside = 0;
      const lead = (body: (context: ScopeContext) => Promise<unknown>): Promise<void> =>
        provider.leaderElection(h.name()).lead({ signal }, async (_term, context) => {
          inside++;
          await body(context);
        });
      const other = await provider.leaderElection(h.name()).campaign();
      const ended = [
        lead(async (context) => {
          await rejection(untilTold(context.signal));
          await provider.leaderElection(h.name()).campaign();
        }),
        lead(() => untilTold(other.lost)),
      ];
      const failed = rejection(
        lead(async (context) => {
          await rejection(untilTold(context.signal));
          throw own;
        }),
      );
      await h.until("three terms", () => inside === 3);
      await provider.close();
      expect(await Promise.all(ended)).toEqual([undefined, undefined]);
      expect(await failed).toBe(own);
    },
  ],
  [
    "close with graceMs stops the body of lead at once, and its term stays until the body has ended",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const released = h.record(provider, "released", name);
      const { signal } = new AbortController();
      const seen: string[] = [];
      const leading = provider.leaderElection(name).lead({ signal }, async (term, context) => {
        seen.push("leads");
        await rejection(untilTold(context.signal));
        expect(context.signal.reason).toBeInstanceOf(ProviderClosedError);
        await term.confirm();
        seen.push(term.state);
        throw context.signal.reason;
      });
      await h.until("a term", () => seen.length > 0);
      const closing = provider.close({ graceMs: 60_000 });
      await leading;
      expect(seen).toEqual(["leads", "held"]);
      expect(released.map((event) => event.outcome)).toEqual(["released"]);
      expect(await closing).toEqual({ released: 0, unconfirmed: [] });
    },
  ],
  [
    "holdAtLeastMs is refused for a term of office",
    async (h) => {
      const provider = await h.provider();
      const election = provider.leaderElection(h.name());
      const options = { holdAtLeastMs: 1_000 };
      const { signal } = new AbortController();
      expect(() => provider.leaderElection(h.name(), options as never)).toThrow(InvalidArgumentError);
      expect(await rejection(election.campaign(options as never))).toBeInstanceOf(InvalidArgumentError);
      expect(await rejection(election.lead({ signal, ...options } as never, () => {}))).toBeInstanceOf(
        InvalidArgumentError,
      );
    },
  ],
  [
    "waitMs bounds one candidacy of lead; wrong arguments are refused at once",
    async (h) => {
      const name = h.name();
      const election = (await h.provider()).leaderElection(name);
      const term = await election.campaign();
      const { signal } = new AbortController();
      const other = (await h.provider()).leaderElection(name);
      expect(await rejection(other.lead({ signal, waitMs: vainMs }, () => {}))).toBeInstanceOf(
        AcquireTimeoutError,
      );
      const wrong: [unknown, unknown, RegExp][] = [
        [{}, () => {}, /lead: signal must be given/],
        [undefined, () => {}, /lead: signal must be given/],
        [{ signal: "x" }, () => {}, /lead: signal must be an AbortSignal/],
        [{ signal }, "no body", /lead: the body must be a function/],
        [{ signal, onLoss: "ignore" }, () => {}, /onLoss/],
      ];
      for (const [options, body, message] of wrong) {
        const error = await rejection(other.lead(options as never, body as never));
        expect(error).toBeInstanceOf(InvalidArgumentError);
        expect((error as Error).message).toMatch(message);
      }
      await term.release();
    },
  ],
];
