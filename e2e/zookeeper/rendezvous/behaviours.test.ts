import { BackendError, type BarrierMembership, LayoutConflictError } from "@holdfast/core";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { openAcl } from "@holdfast/zk-protocol";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { type Server, servers, sessionTimeoutMs } from "./servers.js";

const waitMs = 20_000;
let paths = 0;

for (const { kind, start } of servers) {
  describe(`${kind} ZooKeeper`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, 300_000);
    afterAll(() => server?.stop());

    /** A provider behind a link of its own. */
    async function linked(
      options: ZooKeeperLocksOptions = {},
    ): Promise<{ locks: ZooKeeperLocks; link: ZooKeeperProxy }> {
      const link = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => link.close());
      const locks = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs, ...options });
      onTestFinished(async () => {
        await locks.close({ releaseTimeoutMs: 500 });
      });
      await locks.ready({ waitMs: 10_000 });
      return { locks, link };
    }

    /** Makes and deletes `ready` in one transaction: all clients that watch it get an event, but find no `ready`. */
    async function wakeInVain(path: string): Promise<void> {
      const operator = await operatorSession(server.connectString);
      const ready = `${path}/ready`;
      const request = { path: ready, data: new Uint8Array(0), acl: openAcl, flags: 0 };
      const { results } = await operator.request("multi", {
        ops: [
          { op: "create", request },
          { op: "delete", request: { path: ready, version: -1 } },
        ],
      });
      expect(results.map(({ op }) => op)).toEqual(["create", "delete"]);
    }

    it("60: a barrier that is not there lets every caller pass", async () => {
      const { locks, link } = await linked();
      const path = `/sixty/none${paths++}`;
      await locks.barrier(path).wait({ waitMs });
      // The second read follows a `sync`, because the first one may have been at a server that lags.
      expect(link.counts().byOp.getData).toBe(2);
      // The call leaves no node behind.
      const operator = await operatorSession(server.connectString);
      await expect(operator.request("exists", { path, watch: false })).rejects.toMatchObject({
        codeName: "NoNode",
      });
    });

    it("60: waiters at a barrier get an error when the server is gone for good", async () => {
      const { locks, link } = await linked({ connectTimeoutMs: 500 });
      const path = `/sixty/crash${paths++}`;
      await locks.barrier(path).shut();
      const waiting = locks.barrier(path).wait();
      const entering = locks.doubleBarrier(`${path}d`, 2).enter();
      const told = Promise.all([
        expect(waiting).rejects.toBeInstanceOf(BackendError),
        expect(entering).rejects.toBeInstanceOf(BackendError),
      ]);
      await eventually(() => (link.counts().byOp.getChildren2 ?? 0) > 0, { what: "the member to enter" });
      await link.setMode("reset");
      await told;
    });

    it("60: more members than a double barrier needs pass it", async () => {
      const path = `/sixty/more${paths++}`;
      const members = await Promise.all([1, 2, 3, 4, 5].map(() => connected(server.connectString)));
      const entering = members.map((locks) => locks.doubleBarrier(path, 3).enter({ waitMs }));
      const inside = await Promise.all(entering);
      await Promise.all(inside.map((membership) => membership.leave({ waitMs })));
      // No member is left. Even the path may be gone, if the server has removed empty containers since.
      const reader = await connected(server.connectString);
      expect(await reader.groupMembership(path).members()).toEqual([]);
    });

    it("60: a spurious wake-up lets no member pass a double barrier", async () => {
      const path = `/sixty/spurious${paths++}`;
      const { locks, link } = await linked();
      const passed: BarrierMembership[] = [];
      const entering = locks.doubleBarrier(path, 2).enter({ waitMs });
      void entering.then((membership) => passed.push(membership));
      const listings = () => link.counts().byOp.getChildren2 ?? 0;
      // If the create found no parents, the listing sent behind it fails. So a listing that succeeds shows that the member is in.
      await link.waitFor(({ kind, op, err }) => kind === "reply" && op === "getChildren2" && err === 0);
      const before = listings();
      await wakeInVain(path);
      await eventually(() => listings() > before, { what: "the member to look again" });
      const other = await connected(server.connectString);
      // After two more round trips, everything that the wake-up caused has been done.
      await locks.atomicLong(`${path}a`).get();
      await locks.atomicLong(`${path}a`).get();
      expect(passed).toEqual([]);
      await other.doubleBarrier(path, 2).enter({ waitMs });
      await entering;
    });

    it("60: a spurious wake-up lets no member leave a double barrier before the others", async () => {
      const path = `/sixty/leaving${paths++}`;
      const members = await Promise.all([linked(), linked()]);
      const inside = await Promise.all(
        members.map(({ locks }) => locks.doubleBarrier(path, 2).enter({ waitMs })),
      );
      const operator = await operatorSession(server.connectString);
      const { children } = await operator.request("getChildren2", { path, watch: false });
      const [lowest] = children.filter((name) => name !== "ready").sort();
      const made = members.map(({ link }) =>
        link.trace.some(
          (entry) => entry.kind === "request" && entry.op === "create2" && entry.path === `${path}/${lowest}`,
        ),
      );
      const stays = made.indexOf(true);
      const goes = members[1 - stays] as (typeof members)[number];
      let gone = false;
      goes.link.reset();
      const leaving = inside[1 - stays]?.leave({ waitMs }).then(() => {
        gone = true;
      });
      await goes.link.waitFor((entry) => entry.kind === "reply" && entry.op === "getData");
      const listings = () => goes.link.counts().byOp.getChildren2 ?? 0;
      const before = listings();
      await operator.request("setData", {
        path: `${path}/${lowest}`,
        data: Buffer.from("x"),
        version: -1,
      });
      await eventually(() => listings() > before, { what: "the leaver to look again" });
      // After two more round trips, everything that the wake-up caused has been done.
      await goes.locks.atomicLong(`${path}a`).get();
      await goes.locks.atomicLong(`${path}a`).get();
      expect(gone).toBe(false);
      await inside[stays]?.leave({ waitMs });
      await leaving;
    });

    it("a member is in, and not late, once it has let the others start", async () => {
      const path = `/sixty/late${paths++}`;
      // The session outlasts the time for which its answers are held.
      const { locks, link } = await linked({ sessionTimeoutMs: 30_000 });
      const other = await connected(server.connectString);
      const waiting = other.doubleBarrier(path, 2).enter({ waitMs });
      const operator = await operatorSession(server.connectString);
      await eventually(
        async () => (await operator.request("getChildren2", { path, watch: false })).children.length === 1,
        { what: "the first member" },
      );
      const held = link.holdReply({ op: "multi" });
      // Long enough for a busy machine to send the request that lets the others start.
      const entering = locks.doubleBarrier(path, 2).enter({ waitMs: 2_000 });
      const first = await waiting;
      const startedMs = performance.now();
      await eventually(() => performance.now() - startedMs > 2_200, { what: "the deadline to pass" });
      held.release();
      const second = await entering;
      await Promise.all([first.leave({ waitMs }), second.leave({ waitMs })]);
    });

    it("60: what a crashed round left behind lets no member pass, and the next full round replaces it", async () => {
      const path = `/sixty/stale${paths++}`;
      const operator = await operatorSession(server.connectString);
      const shared = { data: new Uint8Array(0), acl: openAcl, flags: 0 };
      for (const each of ["/sixty", path, `${path}/ready`]) {
        await operator.request("create", { path: each, ...shared }).catch((error) => {
          if (error.codeName !== "NodeExists") throw error;
        });
      }
      const members = await Promise.all([1, 2, 3].map(() => connected(server.connectString)));
      const [last, ...early] = members;
      let passed = 0;
      const entering = early.map((locks) =>
        locks
          .doubleBarrier(path, 3)
          .enter({ waitMs })
          .finally(() => passed++),
      );
      await eventually(
        async () =>
          (await operator.request("getChildren2", { path, watch: false })).children.length ===
          early.length + 1,
        { what: "both members beside the old node" },
      );
      const stale = await operator.request("exists", { path: `${path}/ready`, watch: false });
      expect(passed).toBe(0);
      const inside = [await last?.doubleBarrier(path, 3).enter({ waitMs }), ...(await Promise.all(entering))];
      const fresh = await operator.request("exists", { path: `${path}/ready`, watch: false });
      expect(fresh.stat.czxid).toBeGreaterThan(stale.stat.czxid);
      await Promise.all(inside.map((membership) => membership?.leave({ waitMs })));
    });

    it("enters once although the answer to the create was lost", async () => {
      const path = `/sixty/lost${paths++}`;
      const [{ locks, link }, other] = [await linked(), await connected(server.connectString)];
      await other.barrier(path).shut(); // the path is there
      link.faults.on(
        { op: "create2", path: new RegExp(`^${path}/[0-9a-f]{8}-`) },
        { do: "close", when: "applied" },
      );
      const entering = locks.doubleBarrier(path, 3).enter({ waitMs });
      await link.waitFor((entry) => entry.kind === "reply" && entry.op === "exists");
      const operator = await operatorSession(server.connectString);
      const members = async () => {
        const { children } = await operator.request("getChildren2", { path, watch: false });
        return children.length;
      };
      expect(await members()).toBe(1);
      // Without an answer within `waitMs` the call would report an outage, so this is longer than a busy machine stands still.
      await other
        .doubleBarrier(path, 3)
        .enter({ waitMs: 2_000 })
        .then(
          () => expect.fail("two of three passed"),
          (error) => expect(error.code).toBe("HF_ACQUIRE_TIMEOUT"),
        );
      await link.setMode("ok");
      const third = await connected(server.connectString);
      await Promise.all([
        entering,
        other.doubleBarrier(path, 3).enter({ waitMs }),
        third.doubleBarrier(path, 3).enter({ waitMs }),
      ]);
    });

    it("never counts a member twice whose session we gave up before the server did", async () => {
      const path = `/sixty/twice${paths++}`;
      const [{ locks, link }, operator] = [await linked(), await operatorSession(server.connectString)];
      let passed = false;
      const entering = locks.doubleBarrier(path, 2).enter({ waitMs: 60_000 });
      void entering.then(() => {
        passed = true;
      });
      const node = async () => {
        const { children } = await operator.request("getChildren2", { path, watch: false });
        const stats = await Promise.all(
          children.map((name) => operator.request("exists", { path: `${path}/${name}`, watch: false })),
        );
        return stats.map(({ stat }) => stat.ephemeralOwner);
      };
      // The first flight fails, because the path does not exist. Only the second one makes the member.
      let first: bigint | undefined;
      await eventually(
        async () => {
          [first] = await node().catch(() => []);
          return first !== undefined;
        },
        { what: "the member to enter" },
      );
      let most = 0;
      // Our lease ends a margin before the server's. So the server still has the old node when the next session connects.
      locks.events.on("session-state", ({ state }) => {
        if (state === "lost") void link.setMode("ok");
      });
      await link.setMode("hole");
      await eventually(
        async () => {
          const owners = await node().catch(() => []);
          most = Math.max(most, owners.length);
          return owners.length === 1 && owners[0] !== first;
        },
        { withinMs: 20_000, what: "the member to enter again" },
      );
      expect({ passed, most }).toEqual({ passed: false, most: 1 });
      await (await connected(server.connectString)).doubleBarrier(path, 2).enter({ waitMs });
      await entering;
    });

    it("says that the chroot is wrong rather than that a barrier is open or a latch at zero", async () => {
      const locks = await connected(`${server.connectString}/nowhere`);
      const wrong = {
        name: "BackendError",
        message: expect.stringMatching(/chroot \/nowhere does not exist/),
      };
      await expect(locks.barrier("b").wait({ waitMs })).rejects.toMatchObject(wrong);
      await expect(locks.countDownLatch("l").wait({ waitMs })).rejects.toMatchObject(wrong);
      await expect(locks.countDownLatch("l").count()).rejects.toMatchObject(wrong);
      await expect(locks.atomicLong("a").get()).rejects.toMatchObject(wrong);
      await expect(locks.groupMembership("g").members()).rejects.toMatchObject(wrong);
      await expect(locks.doubleBarrier("d", 1).enter({ waitMs })).rejects.toMatchObject(wrong);
    });

    it("does not open the path of a lock, and takes it for no latch", async () => {
      const path = `/sixty/lock${paths++}`;
      const locks = await connected(server.connectString);
      await using held = await locks.mutex(path).acquire();
      await expect(locks.barrier(path).open()).rejects.toBeInstanceOf(LayoutConflictError);
      await expect(locks.countDownLatch(path).count()).rejects.toBeInstanceOf(LayoutConflictError);
      expect(held.state).toBe("held");
    });

    it("keeps its layout: uuids of the members, ephemeral, and a persistent `ready`", async () => {
      const path = `/sixty/layout${paths++}`;
      const locks = await connected(server.connectString);
      const inside = await locks.doubleBarrier(path, 1).enter({ waitMs });
      const operator = await operatorSession(server.connectString);
      const { children } = await operator.request("getChildren2", { path, watch: false });
      const member = children.find((name) => name !== "ready") as string;
      expect(children).toHaveLength(2);
      expect(member).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const owner = async (name: string) =>
        (await operator.request("getData", { path: `${path}/${name}`, watch: false })).stat.ephemeralOwner;
      expect(await owner("ready")).toBe(0n);
      expect(await owner(member)).not.toBe(0n);
      await inside.leave({ waitMs });
      await locks.countDownLatch(`${path}/latch`).trySetCount(258);
      const latch = await operator.request("getData", { path: `${path}/latch`, watch: false });
      expect(Buffer.from(latch.data ?? []).toString("hex")).toBe("00000102");
      expect(latch.stat.ephemeralOwner).toBe(0n);
    });
  });
}
