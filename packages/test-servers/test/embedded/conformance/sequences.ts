import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { eventually } from "../../../src/index.js";
import {
  childrenOf,
  create,
  createOf,
  ephemeral,
  errOf,
  ok,
  remove,
  sequential,
  statOf,
} from "../support/requests.js";
import type { Wire } from "../support/wire.js";
import type { Item } from "./trial.js";

const limit = 2_147_483_647;

async function gone(wire: Wire, path: string): Promise<void> {
  await eventually(async () => (await statOf(wire, path)) === null, { what: `${path} to be cleaned up` });
}

function createTtl(wire: Wire, path: string, ttlMs: bigint) {
  return wire.ask("createTTL", { ...createOf(path, { flags: CreateFlags.ttl }), ttlMs });
}

export const sequences: readonly Item[] = [
  {
    number: 42,
    title: "sequential names count every child created, nothing else, and start over with the parent",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const next = async (): Promise<string> => (await create(wire, `${home}/s-`, sequential)).slice(-10);
      expect([await next(), await next()]).toEqual(["0000000000", "0000000001"]);
      await create(wire, `${home}/plain`);
      expect(await next()).toBe("0000000003");
      await remove(wire, `${home}/s-0000000003`);
      expect(await errOf(wire, "create", createOf(`${home}/plain`))).toBe(-110);
      await ok(wire.ask("setData", { path: home, data: Buffer.from("x"), version: -1 }));
      expect(await next()).toBe("0000000004");
      for (const name of await childrenOf(wire, home)) await remove(wire, `${home}/${name}`);
      await remove(wire, home);
      await create(wire, home);
      expect(await next()).toBe("0000000000");
    },
  },
  {
    number: 43,
    title: "cversion is twice the children created less those there",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      for (const name of ["a", "b", "c"]) await create(wire, `${home}/${name}`);
      await remove(wire, `${home}/a`);
      expect(await statOf(wire, home)).toMatchObject({ numChildren: 2, cversion: 4 });
    },
  },
  {
    number: 44,
    title: "the prefix of a sequential name may be empty or a dot",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      expect(await create(wire, `${home}/`, sequential)).toBe(`${home}/0000000000`);
      expect(await create(wire, `${home}/.`, sequential)).toBe(`${home}/.0000000001`);
    },
  },
  {
    number: 45,
    title: "a name taken in advance refuses every sequential create of its prefix",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await create(wire, `${home}/s-0000000001`);
      for (let i = 0; i < 3; i++)
        expect(await errOf(wire, "create", createOf(`${home}/s-`, sequential))).toBe(-110);
      expect(await create(wire, `${home}/other-`, sequential)).toBe(`${home}/other-0000000001`);
    },
  },
  {
    number: 46,
    title: "the counter sticks at its limit, and the number is given again to another prefix",
    async run(trial) {
      const wire = await trial.open();
      const [home] = trial.target.nearTheLimit;
      for (let n = limit - 4; n <= limit; n++) {
        expect(await create(wire, `${home}/lock-`, sequential)).toBe(`${home}/lock-${n}`);
      }
      const stat = await statOf(wire, home);
      expect(stat?.cversion).toBe((2 * limit - (stat?.numChildren ?? 0)) | 0);
      for (let i = 0; i < 2; i++)
        expect(await errOf(wire, "create", createOf(`${home}/lock-`, sequential))).toBe(-110);
      const stuck = await wire.ask("create2", createOf(`${home}/other-`, sequential));
      expect(stuck.response?.path).toBe(`${home}/other-${limit}`);
      // The zxid of the last change of children is written together with the counter, so it stays as it is too.
      expect((await statOf(wire, home))?.pzxid).toBe(stat?.pzxid);
      await remove(wire, `${home}/other-${limit}`);
      expect((await statOf(wire, home))?.pzxid).toBe(stuck.zxid + 1n);
    },
  },
  {
    number: 47,
    // The server's speed decides how many creates are under way together, and so how many of the last five step past the limit.
    title: "creates that are under way together step past the limit, and afterwards it sticks",
    async run(trial) {
      const wire = await trial.open();
      const [, home] = trial.target.nearTheLimit;
      const request = ["create", createOf(`${home}/lock-`, sequential)] as const;
      const replies = await Promise.all(wire.askAll(...Array.from({ length: 9 }, () => request)));
      const names = replies.map(({ err, response }) =>
        err === 0 ? (response as { path: string }).path.slice(`${home}/lock-`.length) : String(err),
      );
      const past = names.slice(4).filter((name) => name !== "-110");
      const numbers = [0, 1, 2, 3].map((n) => String(limit - 3 + n));
      const wrapped = past.map((_, n) => String(-limit - 1 + n));
      expect(names).toEqual([...numbers, ...wrapped, ...Array<string>(5 - past.length).fill("-110")]);
      expect(await errOf(wire, "create", createOf(`${home}/lock-`, sequential))).toBe(-110);
      expect(await create(wire, `${home}/other-`, sequential)).toBe(`${home}/other-${limit}`);
    },
  },
  {
    number: 48,
    title:
      "a container hides what it is, stays while it was never used, and goes when its last child has gone",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const flags = CreateFlags.container;
      const { stat } = await ok(wire.ask("createContainer", createOf(`${home}/c`, { flags })));
      expect(stat.ephemeralOwner).toBe(0n);
      await ok(wire.ask("createContainer", createOf(`${home}/unused`, { flags })));
      await create(wire, `${home}/c/child`, ephemeral);
      await ok(wire.ask("exists", { path: `${home}/c`, watch: true }));
      await remove(wire, `${home}/c/child`);
      expect(await wire.event(0)).toMatchObject({ type: "deleted", path: `${home}/c` });
      expect(await childrenOf(wire, home)).toEqual(["unused"]);
    },
  },
  {
    number: 49,
    title:
      "the container flag in a plain create makes an ordinary node, the container operation makes one whatever the flags",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await create(wire, `${home}/plain`, { flags: CreateFlags.container });
      await ok(wire.ask("create2", createOf(`${home}/plain2`, { flags: CreateFlags.container })));
      await ok(wire.ask("createContainer", createOf(`${home}/c0`, { flags: 0 })));
      await ok(wire.ask("createContainer", createOf(`${home}/c1`, { flags: 1 })));
      const { path } = await ok(wire.ask("createContainer", createOf(`${home}/c2-`, { flags: 2 })));
      expect(path).toBe(`${home}/c2-0000000004`);
      for (const name of ["plain", "plain2", "c0", "c1"]) {
        await create(wire, `${home}/${name}/child`);
        await remove(wire, `${home}/${name}/child`);
      }
      await gone(wire, `${home}/c0`);
      await gone(wire, `${home}/c1`);
      expect(await childrenOf(wire, home)).toEqual(["c2-0000000004", "plain", "plain2"]);
    },
  },
  {
    number: 50,
    title: "a child cannot be created where its container has been cleaned up",
    async run(trial) {
      const wire = await trial.open();
      const flags = CreateFlags.container;
      await ok(wire.ask("createContainer", createOf(trial.path, { flags })));
      await create(wire, `${trial.path}/child`);
      await remove(wire, `${trial.path}/child`);
      await gone(wire, trial.path);
      expect(await errOf(wire, "create", createOf(`${trial.path}/child`, ephemeral))).toBe(-101);
    },
  },
  {
    number: 51,
    title: "a TTL node needs extended types and a time in bounds, goes after it and stays with a child",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const stock = await trial.open({}, trial.target.stock);
      expect((await createTtl(stock, "/ttl", 1_000n)).err).toBe(-6);
      expect((await stock.ask("ping", undefined)).err).toBe(0);
      for (const ttlMs of [0n, -1n, 1n << 40n])
        expect((await createTtl(wire, `${home}/bad`, ttlMs)).err).toBe(-8);
      expect(await errOf(wire, "create", createOf(`${home}/bad`, { flags: CreateFlags.ttl }))).toBe(-8);
      const wrongFlags = { path: `${home}/bad`, data: null, acl: openAcl, flags: 0, ttlMs: 1_000n };
      expect(await errOf(wire, "createTTL", wrongFlags)).toBe(-8);
      // The child is asked for in the same turn. Otherwise its parent could be gone on a busy machine before it comes.
      const parent = createTtl(wire, `${home}/parent`, 500n);
      const child = create(wire, `${home}/parent/child`);
      expect((await ok(parent)).stat.ephemeralOwner).toBe(0n);
      await child;
      await ok(createTtl(wire, `${home}/old`, 500n));
      await gone(wire, `${home}/old`);
      expect(await childrenOf(wire, home)).toEqual(["parent"]);
    },
  },
];
