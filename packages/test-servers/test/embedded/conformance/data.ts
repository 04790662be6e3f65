import { CreateFlags, openAcl, Perms } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { create, createOf, ephemeral, errOf, ok, statOf } from "../support/requests.js";
import type { Item } from "./trial.js";

const legal = [
  "/.a",
  "/a..",
  "/with space",
  "/\u2028",
  "/\u5b57",
  `/${"x".repeat(3_000)}`,
  "/back\\slash",
  "/%2F",
  "/\ufeff",
];
const illegal = [
  "",
  "a",
  "//zz",
  "/.",
  "/..",
  "/a\u0001",
  "/a\u007f",
  "/a\u0085",
  "/\u{1f600}",
  "/\ue000",
  "/\ufff0",
  "/\ufffd",
  "/a\u0000",
];

export const data: readonly Item[] = [
  {
    number: 27,
    title: "a create is answered with its path under the next zxid",
    async run(trial) {
      const wire = await trial.open();
      const { zxid } = await wire.ask("ping", undefined);
      expect(await wire.ask("create", createOf(trial.path))).toMatchObject({
        err: 0,
        zxid: zxid + 1n,
        response: { path: trial.path },
      });
    },
  },
  {
    number: 28,
    title: "create2 shows one zxid for creation, change and children, and versions of 0",
    async run(trial) {
      const wire = await trial.open();
      const reply = await wire.ask("create2", createOf(trial.path, { data: Buffer.from("hi") }));
      const { zxid } = reply;
      expect(reply.response).toMatchObject({
        path: trial.path,
        stat: { czxid: zxid, mzxid: zxid, pzxid: zxid, version: 0, cversion: 0, aversion: 0, dataLength: 2 },
      });
    },
  },
  {
    number: 29,
    title: "each refused write names its reason and takes one zxid",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await create(wire, `${home}/e`, ephemeral);
      const { zxid } = await wire.ask("ping", undefined);
      const replies = [
        await wire.ask("create", createOf(home)),
        await wire.ask("create", createOf("/absent/child")),
        await wire.ask("create", createOf(`${home}/e/child`)),
        await wire.ask("delete", { path: home, version: -1 }),
        await wire.ask("delete", { path: `${home}/e`, version: 7 }),
        await wire.ask("setData", { path: home, data: null, version: 7 }),
        await wire.ask("delete", { path: `${home}/absent`, version: -1 }),
      ];
      expect(replies.map(({ err }) => err)).toEqual([-110, -101, -108, -111, -103, -103, -101]);
      expect(replies.map((reply) => reply.zxid - zxid)).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n]);
    },
  },
  {
    number: 30,
    title: "reads and everything else that changes no node take no zxid; a session takes one at either end",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const { zxid } = await wire.ask("ping", undefined);
      await wire.ask("getData", { path: home, watch: true });
      await wire.ask("exists", { path: "/absent", watch: true });
      await wire.ask("getChildren2", { path: home, watch: true });
      await wire.ask("sync", { path: "/" });
      await wire.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
      await wire.ask("addWatch", { path: `${home}/w`, mode: 0 });
      await wire.ask("setWatches", {
        relativeZxid: zxid,
        dataWatches: [],
        existWatches: [],
        childWatches: [],
      });
      await wire.ask("whoAmI", undefined);
      await wire.ask("getEphemerals", { prefix: null });
      expect((await wire.ask("ping", undefined)).zxid).toBe(zxid);
      const other = await trial.open();
      expect((await wire.ask("ping", undefined)).zxid).toBe(zxid + 1n);
      const again = await trial.open(other.credentials);
      expect((await again.ask("ping", undefined)).zxid).toBe(zxid + 1n);
      expect((await again.ask("closeSession", undefined)).zxid).toBe(zxid + 2n);
    },
  },
  {
    number: 31,
    title: "null and empty data are stored and read back as such",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await create(wire, `${home}/null`, { data: null });
      await create(wire, `${home}/empty`, { data: Buffer.alloc(0) });
      const ofNull = await ok(wire.ask("getData", { path: `${home}/null`, watch: false }));
      const ofEmpty = await ok(wire.ask("getData", { path: `${home}/empty`, watch: false }));
      expect([ofNull.data, ofNull.stat.dataLength]).toEqual([null, 0]);
      expect([ofEmpty.data?.length, ofEmpty.stat.dataLength]).toEqual([0, 0]);
    },
  },
  {
    number: 32,
    title: "setData with the right version or -1 raises the version and sets mzxid",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      for (const [version, next] of [
        [0, 1],
        [-1, 2],
      ] as const) {
        const { zxid, response } = await wire.ask("setData", { path: home, data: Buffer.from("x"), version });
        expect(response?.stat).toMatchObject({ version: next, mzxid: zxid });
      }
    },
  },
  {
    number: 33,
    title: "an empty, null or unknown ACL is refused, one of an address is not",
    async run(trial) {
      const wire = await trial.open();
      const entry = (scheme: string, id: string) => [{ perms: 31, scheme, id }];
      const acls = [[], null, entry("odd", "x"), entry("world", "other"), entry("auth", "")];
      for (const acl of acls) expect(await errOf(wire, "create", createOf(trial.path, { acl }))).toBe(-114);
      expect(await errOf(wire, "create", createOf(trial.path, { acl: entry("ip", "127.0.0.1/8") }))).toBe(0);
      expect(await errOf(wire, "getData", { path: trial.path, watch: false })).toBe(0);
    },
  },
  {
    number: 34,
    title: "unknown flags are refused",
    async run(trial) {
      const wire = await trial.open();
      for (const flags of [9, -1])
        expect(await errOf(wire, "create", createOf(trial.path, { flags }))).toBe(-8);
    },
  },
  {
    number: 35,
    title: "paths are refused and taken as measured, the parent being looked for first",
    async run(trial) {
      const wire = await trial.open();
      const errors: [string, number][] = [];
      for (const path of illegal) errors.push([path, await errOf(wire, "create", createOf(path))]);
      expect(errors).toEqual(illegal.map((path) => [path, -8]));
      for (const path of ["/zz/", "/zz//a", "/./a", "/zz/.."]) {
        expect([path, await errOf(wire, "create", createOf(path))]).toEqual([path, -101]);
      }
      expect(await errOf(wire, "create", createOf("/"))).toBe(-110);
      for (const path of legal) {
        expect([path, await errOf(wire, "create", createOf(path))]).toEqual([path, 0]);
        expect(await errOf(wire, "delete", { path, version: 0 })).toBe(0);
      }
    },
  },
  {
    number: 36,
    title: "the root and the server's own nodes cannot be deleted",
    async run(trial) {
      const wire = await trial.open();
      for (const path of ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"]) {
        expect([path, await errOf(wire, "delete", { path, version: -1 })]).toEqual([path, -8]);
      }
    },
  },
  {
    number: 37,
    title: "reads take odd paths as they are",
    async run(trial) {
      const wire = await trial.open();
      expect(await errOf(wire, "exists", { path: "", watch: false })).toBe(0);
      expect(await errOf(wire, "exists", { path: "no slash", watch: false })).toBe(-101);
      expect(await errOf(wire, "exists", { path: "/a\u0000", watch: false })).toBe(-8);
      expect(await ok(wire.ask("sync", { path: "/no/where" }))).toEqual({ path: "/no/where" });
      const reply = wire.expect("exists");
      wire.write(Buffer.from("0000000d0000000b00000003ffffffff00", "hex"));
      expect(await reply).toMatchObject({ xid: 11, err: -5 });
    },
  },
  {
    number: 38,
    title: "getEphemerals lists those of the own session, filtered by a textual prefix",
    async run(trial) {
      const wire = await trial.open();
      const other = await trial.open();
      const home = await trial.home(wire);
      for (const name of ["a1", "a2", "b"]) await create(wire, `${home}/${name}`, ephemeral);
      await create(other, `${home}/foreign`, ephemeral);
      const list = async (prefix: string | null): Promise<string[]> =>
        [...(await ok(wire.ask("getEphemerals", { prefix }))).ephemerals].sort();
      const all = [`${home}/a1`, `${home}/a2`, `${home}/b`];
      for (const prefix of [null, "", "/"]) expect(await list(prefix)).toEqual(all);
      expect(await list(`${home}/a`)).toEqual(all.slice(0, 2));
    },
  },
  {
    number: 39,
    title: "whoAmI names the address, and the user after auth",
    async run(trial) {
      const wire = await trial.open();
      const ip = { authScheme: "ip", user: "127.0.0.1" };
      expect((await ok(wire.ask("whoAmI", undefined))).clientInfo).toEqual([ip]);
      await wire.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
      const { clientInfo } = await ok(wire.ask("whoAmI", undefined));
      expect(clientInfo).toHaveLength(2);
      expect(clientInfo).toEqual(expect.arrayContaining([ip, { authScheme: "digest", user: "u" }]));
    },
  },
  {
    number: 40,
    title: "auth is answered under zxid 0; an unknown scheme fails and closes the connection",
    async run(trial) {
      const wire = await trial.open();
      const good = await wire.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") }, -4);
      expect(good).toMatchObject({ xid: -4, zxid: 0n, err: 0 });
      const bad = await wire.ask("auth", { type: 0, scheme: "odd", auth: Buffer.from("x") }, -4);
      expect(bad).toMatchObject({ xid: -4, zxid: 0n, err: -115 });
      await wire.closed();
      await trial.open(wire.credentials);
    },
  },
  {
    number: 41,
    title: "the node of another user can be seen to exist and nothing else",
    async run(trial) {
      const owner = await trial.open();
      const other = await trial.open();
      const path = trial.path;
      await owner.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
      await create(owner, path, { acl: [{ perms: Perms.ALL, scheme: "auth", id: "" }] });
      await create(owner, `${path}/child`, { acl: openAcl });
      const { acl } = await ok(owner.ask("getACL", { path }));
      expect(acl).toEqual([{ perms: 31, scheme: "digest", id: "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=" }]);
      expect(await errOf(other, "getData", { path, watch: false })).toBe(-102);
      expect(await errOf(other, "getChildren", { path, watch: false })).toBe(-102);
      expect(await errOf(other, "setData", { path, data: null, version: -1 })).toBe(-102);
      expect(await errOf(other, "create", createOf(`${path}/x`, { flags: CreateFlags.persistent }))).toBe(
        -102,
      );
      expect(await errOf(other, "delete", { path: `${path}/child`, version: -1 })).toBe(-102);
      expect(await errOf(other, "getACL", { path })).toBe(-102);
      expect(await statOf(other, path)).not.toBeNull();
      expect(await errOf(owner, "setData", { path, data: null, version: -1 })).toBe(0);
    },
  },
];
