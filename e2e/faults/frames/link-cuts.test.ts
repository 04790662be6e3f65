import type { LockHandle } from "@holdfast/core";
import { eventually, type FrameRule, type TracedOp, type ZooKeeperProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { exactly } from "../server/chance.js";
import { type Actor, expectNoHolds, Stage } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});

/** The operations that the recipes send. Keep-alives are left out, because they come at no fixed time. */
const ops: TracedOp[] = [
  "create2",
  "getChildren2",
  "getData",
  "setWatches",
  "exists",
  "delete",
  "removeWatches",
];

type Frames = "request" | "reply" | "event";

/** One frame on one actor's link in the relay. The frame is lost, and the link is cut with it. */
interface Case {
  readonly actor: number;
  readonly frames: Frames;
  readonly nth: number;
}

/** Three acquires get the lock one after the other. Fails as soon as two hold. */
async function relay(actors: readonly Actor[], path: string): Promise<void> {
  let holder: number | null = null;
  const tokens: bigint[] = [];
  const acquire = async (index: number): Promise<LockHandle> => {
    const handle = await (actors[index] as Actor).locks.mutex(path).acquire({ waitMs: 15_000 });
    if (holder !== null) throw new Error(`${index} was granted while ${holder} holds`);
    holder = index;
    tokens.push(handle.token as bigint);
    return handle;
  };
  const release = async (handle: LockHandle): Promise<void> => {
    holder = null;
    expect(await handle.release()).toBe("released");
  };
  const nodes = (count: number): Promise<unknown> =>
    eventually(async () => (await stage.operator.children(path)).length === count, {
      what: `${count} nodes in the queue`,
      everyMs: 2,
    });

  const first = await acquire(0);
  const second = acquire(1);
  await nodes(2);
  const third = acquire(2);
  await nodes(3);
  await release(first);
  await release(await second);
  await release(await third);
  expect([...tokens].sort((a, b) => (a < b ? -1 : 1))).toEqual(tokens);
}

function lose({ actor, frames, nth }: Case, actors: readonly Actor[]): FrameRule {
  const { proxy } = actors[actor] as Actor;
  if (frames === "request") return proxy.dropRequest({ op: ops, nth, thenCut: true });
  if (frames === "reply") return proxy.dropReply({ op: ops, nth, thenCut: true });
  return proxy.dropEvents({ nth, times: 1, thenCut: true });
}

async function sweep(what: string, actors: readonly Actor[]): Promise<void> {
  const links = [...new Set(actors)];
  const path = await stage.path();
  for (const { proxy } of links) proxy.reset();
  await relay(actors, path);
  const cases: Case[] = [];
  for (const { proxy } of links) {
    const actor = actors.findIndex((each) => each.proxy === proxy);
    for (const frames of ["request", "reply", "event"] as const) {
      const seen = proxy.trace.filter(
        ({ kind, op }) => kind === frames && (kind === "event" || ops.includes(op)),
      );
      for (let nth = 1; nth <= seen.length; nth++) cases.push({ actor, frames, nth });
    }
  }
  const sweeps = share(`sweeps of the frames of a relay, ${what}`, 1, 20);
  // In every second sweep the link refuses connections for a while after the cut.
  const chosen = Array.from({ length: sweeps }, (_, sweep) =>
    cases.map((each) => ({ ...each, outageMs: sweep % 2 === 0 ? 0 : 100 })),
  ).flat();
  let hits = 0;
  for (const each of chosen) {
    for (const { proxy } of links) proxy.reset();
    const rule = lose(each, actors);
    if (each.outageMs > 0) void outage((actors[each.actor] as Actor).proxy, rule, each.outageMs);
    try {
      await relay(actors, path);
    } catch (error) {
      const trace = (actors[each.actor] as Actor).proxy.trace;
      throw new Error(`${JSON.stringify(each)}: ${String(error)}\n${trace.map(line).join("\n")}`, {
        cause: error,
      });
    }
    hits += rule.hits.length;
    rule.release();
    expect(await stage.operator.children(path)).toEqual([]);
    expectNoHolds(...links);
  }
  console.log(`${what}: ${cases.length} frames, ${chosen.length} tried, ${hits} lost`);
  // A frame or two may be missing in some runs: that depends on which of two answers comes first.
  expect(hits).toBeGreaterThanOrEqual(Math.floor(chosen.length * 0.8));
}

/** Refuses connections for `ms` once `rule` has cut the link. A rule that is released first has met no frame in this relay. */
async function outage(proxy: ZooKeeperProxy, rule: FrameRule, ms: number): Promise<void> {
  try {
    await rule.hit({ withinMs: 60_000 });
  } catch (error) {
    if (rule.over) return;
    throw error;
  }
  await proxy.setMode("refuse");
  await exactly(ms);
  await proxy.setMode("ok");
}

function line({ kind, op, path, event, err, fate }: Actor["proxy"]["trace"][number]): string {
  return [kind, event ?? op, path, err, fate].filter((part) => part !== undefined).join(" ");
}

describe("a link that loses one frame and breaks, at each frame of a hand-off in turn", () => {
  it("lets one hold at a time and serves all, with a session each", async () => {
    await sweep("three sessions", [await stage.actor(), await stage.actor(), await stage.actor()]);
  });

  it("lets one hold at a time and serves all, in one session", async () => {
    const actor = await stage.actor();
    await sweep("one session", [actor, actor, actor]);
  });
});
