import { CreateFlags, type MultiOp, type MultiResponse, openAcl } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { childrenOf, create, createOf, ephemeralSequential, ok, statOf } from "../support/requests.js";
import type { Reply, Wire } from "../support/wire.js";
import type { Item } from "./trial.js";

async function multi(wire: Wire, ...ops: MultiOp[]): Promise<Reply<"multi"> & { response: MultiResponse }> {
  const reply = await wire.ask("multi", { ops });
  if (reply.response === undefined) throw new Error(`multi answered ${reply.err}`);
  return { ...reply, response: reply.response };
}

const make = (path: string, flags = 0): MultiOp => ({ op: "create", request: createOf(path, { flags }) });
const set = (path: string, version = -1): MultiOp => ({
  op: "setData",
  request: { path, data: Buffer.from("x"), version },
});
const drop = (path: string): MultiOp => ({ op: "delete", request: { path, version: -1 } });
const check = (path: string, version = -1): MultiOp => ({ op: "check", request: { path, version } });

export const transactions: readonly Item[] = [
  {
    number: 52,
    title: "a transaction is applied whole under one zxid",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const { zxid: before } = await wire.ask("ping", undefined);
      const { zxid, response } = await multi(
        wire,
        make(`${home}/a`),
        make(`${home}/b`),
        set(`${home}/a`, 0),
        drop(`${home}/b`),
        check(`${home}/a`, 1),
      );
      expect(zxid).toBe(before + 1n);
      expect(response.results.map(({ op }) => op)).toEqual([
        "create",
        "create",
        "setData",
        "delete",
        "check",
      ]);
      expect(await statOf(wire, home)).toMatchObject({ numChildren: 1, pzxid: zxid, cversion: 3 });
      expect(await statOf(wire, `${home}/a`)).toMatchObject({ czxid: zxid, mzxid: zxid, version: 1 });
    },
  },
  {
    number: 53,
    title: "a transaction that fails names the culprit, changes nothing and takes a zxid",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await create(wire, `${home}/old`, { data: Buffer.from("1") });
      const before = [await statOf(wire, home), await statOf(wire, `${home}/old`)];
      const { zxid } = await wire.ask("ping", undefined);
      const failed = await multi(
        wire,
        make(`${home}/a`),
        set(`${home}/old`),
        drop(`${home}/absent`),
        make(`${home}/b`),
      );
      expect(failed).toMatchObject({ err: 0, zxid: zxid + 1n });
      expect(failed.response.results).toEqual([0, 0, -101, -2].map((code) => ({ op: "error", code })));
      expect([await statOf(wire, home), await statOf(wire, `${home}/old`)]).toEqual(before);
      const undone = await multi(wire, drop(`${home}/old`), make(`${home}/s-`, 2), check(home, 99));
      expect(undone.response.results.map((result) => ("code" in result ? result.code : "ok"))).toEqual([
        0, 0, -103,
      ]);
      expect([await statOf(wire, home), await statOf(wire, `${home}/old`)]).toEqual(before);
      expect(await create(wire, `${home}/s-`, { flags: 2 })).toBe(`${home}/s-0000000001`);
    },
  },
  {
    number: 54,
    title: "create2 is answered as create, a container and a TTL node with their Stat",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const { response, zxid } = await multi(
        wire,
        { op: "create2", request: createOf(`${home}/plain`) },
        { op: "createContainer", request: createOf(`${home}/c`, { flags: CreateFlags.container }) },
        {
          op: "createTTL",
          request: { path: `${home}/t`, data: null, acl: openAcl, flags: 5, ttlMs: 60_000n },
        },
      );
      expect(response.results).toEqual([
        { op: "create", path: `${home}/plain` },
        {
          op: "create2",
          path: `${home}/c`,
          stat: expect.objectContaining({ czxid: zxid, ephemeralOwner: 0n }),
        },
        {
          op: "create2",
          path: `${home}/t`,
          stat: expect.objectContaining({ czxid: zxid, ephemeralOwner: 0n }),
        },
      ]);
    },
  },
  {
    number: 55,
    title: "an empty transaction is answered with the end marker alone",
    async run(trial) {
      const wire = await trial.open();
      const { zxid } = await wire.ask("ping", undefined);
      const reply = await multi(wire);
      expect(reply.zxid).toBe(zxid + 1n);
      expect(wire.frames[reply.place - 1]?.subarray(16).toString("hex")).toBe("ffffffff01ffffffff");
    },
  },
  {
    number: 56,
    title: "one transaction makes a container and a sequential ephemeral in it",
    async run(trial) {
      const wire = await trial.open();
      const path = trial.path;
      const { response } = await multi(
        wire,
        { op: "createContainer", request: createOf(path, { flags: CreateFlags.container }) },
        { op: "create", request: createOf(`${path}/s-`, ephemeralSequential) },
        { op: "create", request: createOf(`${path}/s-`, ephemeralSequential) },
      );
      expect(response.results.map(({ op }) => op)).toEqual(["create2", "create", "create"]);
      expect(await childrenOf(wire, path)).toEqual(["s-0000000000", "s-0000000001"]);
      expect((await ok(wire.ask("getData", { path, watch: false }))).stat.numChildren).toBe(2);
    },
  },
];
