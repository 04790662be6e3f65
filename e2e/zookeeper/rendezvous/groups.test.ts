import { InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { eventually, expireSession, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { type GroupMember, type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected, operatorSession } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { type Server, servers, sessionTimeoutMs } from "./servers.js";

let paths = 0;
const text = (member: GroupMember | undefined): string => Buffer.from(member?.data ?? []).toString();
const ids = (members: readonly GroupMember[]): string[] => members.map(({ id }) => id);

for (const { kind, start } of servers) {
  describe(`${kind} ZooKeeper, a group`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, 300_000);
    afterAll(() => server?.stop());

    async function linked(): Promise<{ locks: ZooKeeperLocks; link: ZooKeeperProxy }> {
      const link = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => link.close());
      const locks = zookeeperLocks({ connect: link.connectString, sessionTimeoutMs });
      onTestFinished(async () => {
        await locks.close({ releaseTimeoutMs: 500 });
      });
      await locks.ready();
      return { locks, link };
    }

    it("has those who joined, with their data, until they are disposed of", async () => {
      const path = `/groups/g${paths++}`;
      const [first, second] = [await connected(server.connectString), await connected(server.connectString)];
      expect(await first.groupMembership(path).members()).toEqual([]);
      const b = await first.groupMembership(path).join("b", Buffer.from("bee"));
      const a = await second.groupMembership(path).join("a");
      const members = await second.groupMembership(path).members();
      expect(ids(members)).toEqual(["a", "b"]);
      expect(text(members[1])).toBe("bee");
      expect(text(members[0])).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      const operator = await operatorSession(server.connectString);
      const node = await operator.request("exists", { path: `${path}/b`, watch: false });
      expect(node.stat.ephemeralOwner).not.toBe(0n);
      await b[Symbol.asyncDispose]();
      expect(ids(await second.groupMembership(path).members())).toEqual(["a"]);
      await a[Symbol.asyncDispose]();
      await a[Symbol.asyncDispose]();
      expect(await first.groupMembership(path).members()).toEqual([]);
    });

    it("is observed from before its first member on: who comes, who changes, who goes", async () => {
      const path = `/groups/g${paths++}`;
      const [watcher, other] = [await connected(server.connectString), await connected(server.connectString)];
      const controller = new AbortController();
      const seen = watcher
        .groupMembership(path)
        .observe({ signal: controller.signal })
        [Symbol.asyncIterator]();
      expect((await seen.next()).value).toEqual([]);
      const next = seen.next();
      const member = await other.groupMembership(path).join("x", Buffer.from("1"));
      expect(ids((await next).value ?? [])).toEqual(["x"]);
      const changed = seen.next();
      const operator = await operatorSession(server.connectString);
      await operator.request("setData", { path: `${path}/x`, data: Buffer.from("2"), version: -1 });
      expect(text((await changed).value?.[0])).toBe("2");
      const gone = seen.next();
      await member[Symbol.asyncDispose]();
      expect((await gone).value).toEqual([]);
      controller.abort();
      expect((await seen.next()).done).toBe(true);
    });

    it("has a member again whose session was lost", async () => {
      const path = `/groups/g${paths++}`;
      const [{ locks, link }, other] = [await linked(), await connected(server.connectString)];
      await locks.groupMembership(path).join("m", Buffer.from("me"));
      const operator = await operatorSession(server.connectString);
      const before = await operator.request("exists", { path: `${path}/m`, watch: false });
      const session = link.sessions.at(-1);
      if (session === undefined) throw new Error("no session");
      await expireSession({ connectString: server.connectString, ...session });
      await eventually(
        async () => {
          const [member] = await other.groupMembership(path).members();
          if (text(member) !== "me") return false;
          const { stat } = await operator.request("exists", { path: `${path}/m`, watch: false });
          return stat.ephemeralOwner !== before.stat.ephemeralOwner;
        },
        { withinMs: 10_000, what: "the member to be put back by the next session" },
      );
    });

    it("has a member again whose node an operator deleted, until it is disposed of", async () => {
      const path = `/groups/g${paths++}`;
      const locks = await connected(server.connectString);
      const member = await locks.groupMembership(path).join("m");
      const operator = await operatorSession(server.connectString);
      const { stat } = await operator.request("exists", { path: `${path}/m`, watch: false });
      await operator.request("delete", { path: `${path}/m`, version: -1 });
      await eventually(
        // `children` accepts a missing path: the server may have removed the empty group in between.
        async () => (await new Operator(operator).children(path)).includes("m"),
        { what: "the member to be put back" },
      );
      const again = await operator.request("exists", { path: `${path}/m`, watch: false });
      expect(again.stat.czxid).toBeGreaterThan(stat.czxid);
      await member[Symbol.asyncDispose]();
      expect(await locks.groupMembership(path).members()).toEqual([]);
    });

    it("refuses an id that a living session has, and takes it once that is gone", async () => {
      const path = `/groups/g${paths++}`;
      const [first, second] = [await connected(server.connectString), await connected(server.connectString)];
      await first.groupMembership(path).join("m");
      await expect(first.groupMembership(path).join("m")).rejects.toBeInstanceOf(LayoutConflictError);
      const refused = second.groupMembership(path).join("m");
      await expect(refused).rejects.toBeInstanceOf(LayoutConflictError);
      await expect(refused).rejects.toMatchObject({ retryable: true });
      expect(ids(await second.groupMembership(path).members())).toEqual(["m"]);
      await first.close();
      await second.groupMembership(path).join("m");
    });

    it("has a member once whose create was never answered, and whose delete was not either", async () => {
      const path = `/groups/g${paths++}`;
      const [{ locks, link }, other] = [await linked(), await connected(server.connectString)];
      await other.groupMembership(path).join("other");
      link.faults.on({ op: "create2", path: `${path}/m` }, { do: "close", when: "applied" });
      const member = await locks.groupMembership(path).join("m");
      expect(ids(await other.groupMembership(path).members())).toEqual(["m", "other"]);
      const fault = link.faults.on({ op: "delete", path: `${path}/m` }, { do: "close", when: "applied" });
      const disposed = member[Symbol.asyncDispose]();
      await fault.reached();
      const refusal = link.faults.refuseConnections();
      await eventually(async () => (await other.groupMembership(path).members()).length === 1, {
        what: "the delete to be applied",
      });
      // Another client takes the id before our client can repeat its delete.
      await other.groupMembership(path).join("m", Buffer.from("theirs"));
      const operator = await operatorSession(server.connectString);
      const theirs = await operator.request("exists", { path: `${path}/m`, watch: false });
      refusal.release();
      await disposed;
      // Compares the czxid, because a member that was deleted would come back by itself, as a new node.
      const still = await operator.request("exists", { path: `${path}/m`, watch: false });
      expect(still.stat.czxid).toBe(theirs.stat.czxid);
    });

    it("refuses ids that are no single segment of a path", async () => {
      const group = (await connected(server.connectString)).groupMembership("/groups/ids");
      for (const id of ["", "a/b", ".", "..", "a\u0000b", 5 as unknown as string]) {
        await expect(group.join(id)).rejects.toBeInstanceOf(InvalidArgumentError);
      }
    });
  });
}
