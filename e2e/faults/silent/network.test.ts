import { setTimeout as pass } from "node:timers/promises";
import {
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, it, vi } from "vitest";
import { chance } from "../../support/faults/fault-chance.js";
import type { Contest, Verdict } from "../../support/faults/fault-contest.js";
import { FaultObserver } from "../../support/faults/fault-observer.js";
import { share } from "../../support/share.js";
import { testLimitMs } from "../server/test-limit.js";
import { contests, figures, lostFirst, patienceMs, Tidy } from "./contests.js";

vi.setConfig({ testTimeout: testLimitMs });

const sessionTimeoutMs = 1_500;
/** Leaves a holder in doubt three seconds to reconnect, and lets no moment in which a busy machine stands still bring doubt. */
const lastingMs = 9_000;
/** So short that the server ends sessions as punctually as it can: it looks for dead ones once a tick. */
const tickTimeMs = 10;
/** Every lease ends at least this long before the session time-out. The rounding of the clocks is already taken off. */
const marginMs = 95;
/** A lease by keep-alive ends this much earlier still: a follower may take so long to report the sessions it heard from. */
const reportMs = sessionTimeoutMs / 4;
const grantWithinMs = 20_000;
const batch = 5;
const random = chance("network faults");

const suite = new Tidy();
let server: ZooKeeperNode;
let observer: FaultObserver;

beforeAll(async () => {
  const limits = { tickTimeMs, minSessionTimeoutMs: 1_000, maxSessionTimeoutMs: 20_000 };
  server = suite.add(await startZooKeeper(limits), (it) => it.stop());
  observer = suite.add(await FaultObserver.connect(server.connectString), (it) => it[Symbol.asyncDispose]());
});
afterAll(() => suite[Symbol.asyncDispose]());

interface Fault {
  readonly what: string;
  /** Runs the fault until `over` is aborted. */
  begin(proxy: ZooKeeperProxy, over: AbortSignal): Promise<void>;
  /** The least time from the end of the last promise to the next grant. */
  readonly leastMarginMs: number;
  /** The hold may become uncertain and recover before it is lost. */
  readonly wavers?: boolean;
}

const faults: Fault[] = [
  {
    what: "silent network",
    leastMarginMs: marginMs + reportMs,
    begin: (proxy) => proxy.setMode("hole"),
  },
  {
    what: "network silent towards the server",
    leastMarginMs: marginMs + reportMs,
    begin: (proxy) => proxy.setMode("hole-up"),
  },
  {
    what: "network silent towards the holder",
    leastMarginMs: marginMs + reportMs,
    begin: (proxy) => proxy.setMode("hole-down"),
  },
  {
    what: "network that gets slower and slower",
    // A reconnect may come in time. The lease then counts from the reconnect.
    leastMarginMs: marginMs,
    wavers: true,
    begin: async (proxy, over) => {
      for (let delayMs = 50; !over.aborted && delayMs < 10_000; delayMs *= 1.3) {
        proxy.setDelayMs(delayMs);
        await pass(100);
      }
    },
  },
  {
    what: "slow network that falls silent",
    // If the `sync` of the reconnect is answered in time, the lease counts from that and not from a keep-alive.
    leastMarginMs: marginMs,
    wavers: true,
    begin: async (proxy) => {
      // Either the answer arrives just before the silence, and the lease counts from the time at which the request was sent.
      // Or the answer comes too late to count.
      proxy.setDelayMs({ down: 380 });
      proxy.reset();
      await proxy.waitFor(({ kind, op }) => kind === "request" && op === "sync");
      await pass(400);
      await proxy.setMode("hole");
    },
  },
  {
    what: "network that lets 8 bytes a second through",
    leastMarginMs: marginMs,
    begin: async (proxy) => proxy.setRate(8),
  },
];

/** Runs a batch of contests under one fault, from the holder's grant until the queue is empty again. */
async function run(
  { what, begin }: Fault,
  count: number,
): Promise<{ verdicts: Verdict[]; after: unknown[] }> {
  await using tidy = new Tidy();
  const proxies: ZooKeeperProxy[] = [];
  const waiter = await tidy.provider(server.connectString, { sessionTimeoutMs: 10_000 });
  const running = await contests(what.replaceAll(" ", "-"), count, grantWithinMs, async (index) => {
    const proxy = tidy.add(await startZooKeeperProxy({ target: server.connectString }), (it) => it.close());
    proxies[index] = proxy;
    return { holder: await tidy.provider(proxy.connectString, { sessionTimeoutMs }), waiter, observer };
  });
  const done = await Promise.all(
    running.map(async (contest, index) => {
      const proxy = proxies[index] as ZooKeeperProxy;
      // The fault begins at a random time between two keep-alives, when only these prove the session's lease.
      await pass(sessionTimeoutMs / 2 + random() * (sessionTimeoutMs / 4));
      const over = new AbortController();
      contest.faultBegins();
      const fault = begin(proxy, over.signal);
      const verdict = await contest.verdict();
      over.abort();
      await fault;
      return { verdict, after: await mend(proxy, contest) };
    }),
  );
  return { verdicts: done.map(({ verdict }) => verdict), after: done.map(({ after }) => after) };
}

async function mend(proxy: ZooKeeperProxy, contest: Contest): Promise<unknown> {
  proxy.setDelayMs(0);
  proxy.setRate(Number.POSITIVE_INFINITY);
  await proxy.setMode("ok");
  return contest.aftermath(10_000);
}

describe.concurrent("a holder behind a network that goes silent or slow", () => {
  for (const fault of faults) {
    it(
      `hears of the loss before the next grant: ${fault.what}`,
      async ({ expect }) => {
        const total = share(fault.what, 2, 20);
        const verdicts: Verdict[] = [];
        for (let done = 0; done < total; done += batch) {
          const round = await run(fault, Math.min(batch, total - done));
          verdicts.push(...round.verdicts);
          for (const after of round.after) expect(after).toEqual({ tokenGrew: true });
        }
        console.log(figures(fault.what, verdicts));
        for (const verdict of verdicts) {
          expect(verdict).toMatchObject(lostFirst);
          expect(verdict.marginMs).toBeGreaterThan(0);
          // On a busy machine a hold may become uncertain before the fault and recover. Its lease may then count from a reconnect.
          const recovered = verdict.told.includes("recovered");
          expect(verdict.promiseMarginMs).toBeGreaterThan(recovered ? marginMs : fault.leastMarginMs);
          if (fault.wavers === true) {
            // If an answer is late enough, no time is left to become uncertain once more.
            expect(verdict.told[0]).toBe("uncertain");
            expect(verdict.told.at(-1)).toBe("lost");
          } else expect(verdict.told.slice(-2)).toEqual(["uncertain", "lost"]);
        }
      },
      patienceMs,
    );
  }

  it(
    "keeps the lock through a silence that ends before its lease does, and hears of both",
    async ({ expect }) => {
      const total = share("short silence", 2, 20);
      for (let done = 0; done < total; done += batch) {
        await using tidy = new Tidy();
        const count = Math.min(batch, total - done);
        const proxies: ZooKeeperProxy[] = [];
        const waiter = await tidy.provider(server.connectString, { sessionTimeoutMs: 10_000 });
        const running = await contests("short-silence", count, 2 * grantWithinMs, async (index) => {
          const proxy = tidy.add(await startZooKeeperProxy({ target: server.connectString }), (it) =>
            it.close(),
          );
          proxies[index] = proxy;
          const holder = await tidy.provider(proxy.connectString, { sessionTimeoutMs: lastingMs });
          return { holder, waiter, observer };
        });
        await Promise.all(
          running.map(async (contest, index) => {
            const proxy = proxies[index] as ZooKeeperProxy;
            const doubted = contest.whenTold("uncertain");
            await proxy.setMode("hole");
            await doubted;
            expect(contest.handle.state).toBe("uncertain");
            const recovered = contest.whenTold("recovered");
            await proxy.setMode("ok");
            await recovered;
            expect(contest.handle.state).toBe("held");
            expect(contest.told).toEqual(["uncertain", "recovered"]);
            // Waits past the time at which the server would have ended the session without the new contact.
            await pass(lastingMs + 500);
            contest.handle.assertHeld();
            await contest.handle.confirm();
            expect(contest.granted).toBe(false);
            expect(await contest.handle.release()).toBe("released");
            expect(await contest.verdict()).toMatchObject({
              told: ["uncertain", "recovered"],
              state: "released",
            });
            expect(await contest.aftermath(10_000)).toEqual({ tokenGrew: true });
          }),
        );
      }
    },
    patienceMs,
  );
});
