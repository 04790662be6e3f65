import { InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { connected } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { aborted, untilLabels, waitMs } from "./candidates.js";

const forms = ["latch", "selector"] as const;
let paths = 0;

describe.each(targetNames)("an election on %s", (name) => {
  let target: Target;
  let path: string;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());
  beforeEach(() => {
    path = `/layouts/e${paths++}`;
  });

  const client = (options = {}) => connected(target.connectString, options);

  it("has the nodes and the data of Curator's LeaderLatch by default, and of its LeaderSelector when asked to", async () => {
    const operator = await Operator.connect(target.connectString);
    const locks = await client();
    const named = async (layout: "latch" | "selector" | undefined, label?: string) => {
      const options = { ...(layout && { layout }), ...(label && { label }) };
      const at = `${path}-${layout}-${label}`;
      const term = await locks.leaderElection(at, options).campaign({ waitMs });
      const node = await operator.onlyChild(at);
      const { data, stat } = await operator.read(node);
      expect(stat.czxid).toBe(term.token);
      await term.release();
      return [node.slice(at.length + 1).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "<id>"), data];
    };
    expect(await named(undefined, "node-1")).toEqual(["_c_<id>-latch-0000000000", "node-1"]);
    expect(await named("latch")).toEqual(["_c_<id>-latch-0000000000", ""]);
    expect(await named("selector", "node-1")).toEqual(["_c_<id>-lock-0000000000", "node-1"]);
    expect(await named("selector")).toEqual([
      "_c_<id>-lock-0000000000",
      expect.stringMatching(/^\d+(\.\d+){3}$/),
    ]);
  });

  it("keeps a label plain with identity, so that Curator's participants can read it", async () => {
    const operator = await Operator.connect(target.connectString);
    const locks = await client({ identity: true });
    const term = await locks.leaderElection(path).campaign({ waitMs, label: "node-1" });
    expect((await operator.read(await operator.onlyChild(path))).data).toBe("node-1");
    await term.release();
    const nameless = await locks.leaderElection(path).campaign({ waitMs });
    expect((await (await client()).leaderElection(path).leader())?.label).toContain(`:${process.pid}`);
    await nameless.release();
  });

  it.each([
    ["latch", "selector"],
    ["selector", "latch"],
  ] as const)(
    "of the form %s refuses a candidate of the form %s, who leaves no node",
    async (first, second) => {
      const [one, other] = [await client(), await client()];
      const operator = await Operator.connect(target.connectString);
      const term = await one.leaderElection(path, { layout: first }).campaign({ waitMs });
      await expect(
        other.leaderElection(path, { layout: second }).campaign({ waitMs }),
      ).rejects.toBeInstanceOf(LayoutConflictError);
      expect(await operator.children(path)).toHaveLength(1);
      await term.release();
    },
  );

  it.each(forms)("of the form %s is seen by every observer, whatever form that expects", async (layout) => {
    const [leader, follower, watcher] = [await client(), await client(), await client()];
    const term = await leader.leaderElection(path, { layout, label: "leader" }).campaign({ waitMs });
    const waiting = follower.leaderElection(path, { layout, label: "follower" }).campaign({ waitMs });
    for (const expected of forms) {
      const election = watcher.leaderElection(path, { layout: expected });
      await untilLabels(election, "leader", "follower");
      expect(await election.leader()).toMatchObject({ label: "leader", leader: true });
      expect((await election.participants()).map((each) => each.leader)).toEqual([true, false]);
    }
    const { kind, held, pending } = await (watcher.leaderElection(path) as never as Looking).inspect();
    expect(kind).toBe("leader-election");
    expect(held).toMatchObject([
      { label: "leader", mode: "exclusive", session: expect.stringMatching(/^0x/) },
    ]);
    expect(pending).toMatchObject([{ label: "follower", position: 0, sinceMs: { provenance: "exact" } }]);
    await term.release();
    await (await waiting).release();
  });

  it("excludes a mutex of the same path in the form of a selector, as Curator's does, and refuses it as a latch", async () => {
    const locks = await client();
    const mutex = await locks.mutex(path).acquire({ waitMs });
    const stranger = await client();
    // Without an answer within `waitMs` the call would report an outage, so this is longer than a busy machine stands still.
    const campaign = (layout: "latch" | "selector") =>
      stranger.leaderElection(path, { layout }).campaign({ waitMs: 2_000 });
    await expect(campaign("selector")).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT" });
    await expect(campaign("latch")).rejects.toMatchObject({ code: "HF_LAYOUT_CONFLICT" });
    await mutex.release();
  });

  it.each(forms)("of the form %s: a leader that was asked to resign hears of it", async (layout) => {
    const [leader, other] = [await client(), await client()];
    const term = await leader.leaderElection(path, { layout }).campaign({ waitMs, revocable: true });
    const looking = other.leaderElection(path, { layout }) as never as Looking;
    expect(await looking.requestRevoke()).toBe(true);
    await aborted(term.revokeRequested as AbortSignal);
    await term.release();
    expect(await looking.requestRevoke()).toBe(false);
  });

  it("takes no label that means that the leader shall resign", async () => {
    const locks = await client();
    const operator = await Operator.connect(target.connectString);
    await expect(locks.leaderElection(path).campaign({ waitMs, label: "__REVOKE__" })).rejects.toBeInstanceOf(
      InvalidArgumentError,
    );
    expect(await operator.children(path)).toEqual([]);
    const term = await locks.leaderElection(path).campaign({ waitMs, revocable: true });
    await expect(term.announce("__REVOKE__")).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(term.state).toBe("held");
    await term.release();
  });
});

interface Looking {
  inspect(): Promise<{ kind: string; held: unknown[]; pending: unknown[] }>;
  requestRevoke(): Promise<boolean>;
}

it.each([
  [
    "connectionPolicy",
    () => zookeeperLocks({ connect: "127.0.0.1:1", connectionPolicy: "lenient" as never }),
  ],
  ["layout", () => nowhere().leaderElection("x", { layout: "chain" as never })],
  ["lay0ut", () => nowhere().leaderElection("x", { lay0ut: "latch" } as never)],
  ["options", () => nowhere().leaderElection("x", null as never)],
])("an option %s that cannot be is refused at once", (option, make) => {
  expect(make).toThrow(InvalidArgumentError);
  expect(make).toThrow(option);
});

function nowhere() {
  return zookeeperLocks({ connect: "127.0.0.1:1" });
}
