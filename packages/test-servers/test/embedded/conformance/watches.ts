import { expect } from "vitest";
import { create, createOf, errOf, ok, remove } from "../support/requests.js";
import type { Wire } from "../support/wire.js";
import type { Item } from "./trial.js";

/** Resolves when everything that the server sent to these connections before has arrived. */
async function settled(...wires: Wire[]): Promise<void> {
  for (const wire of wires) await wire.ask("sync", { path: "/" });
}

const setData = (wire: Wire, path: string, text = "x") =>
  ok(wire.ask("setData", { path, data: Buffer.from(text), version: -1 }));

export const watches: readonly Item[] = [
  {
    number: 57,
    title: "exists sets its watch on a missing node too, getData and getChildren don't",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      for (const [op, name] of [
        ["exists", "e"],
        ["getData", "d"],
        ["getChildren", "c"],
      ] as const) {
        expect(await errOf(wire, op, { path: `${home}/${name}`, watch: true })).toBe(-101);
        await create(writer, `${home}/${name}`);
      }
      await settled(wire);
      expect(wire.types).toEqual([`created ${home}/e`]);
    },
  },
  {
    number: 58,
    title: "each kind of write fires the watches it should, once, and others none",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      await create(writer, `${home}/n`);
      const fired = async (arm: () => Promise<unknown>, write: () => Promise<unknown>): Promise<string[]> => {
        const before = wire.types.length;
        await arm();
        await write();
        await settled(wire);
        return wire.types.slice(before).map((text) => text.replaceAll(home, "~"));
      };
      const path = `${home}/n`;
      const armAll = async (): Promise<void> => {
        await ok(wire.ask("exists", { path, watch: true }));
        await ok(wire.ask("getChildren", { path, watch: true }));
        await ok(wire.ask("getChildren", { path: home, watch: true }));
      };
      const acl = [{ perms: 31, scheme: "world", id: "anyone" }];
      expect(await fired(armAll, () => writer.ask("setACL", { path, acl, version: -1 }))).toEqual([]);
      expect(await fired(armAll, () => writer.ask("delete", { path, version: 9 }))).toEqual([]);
      expect(await fired(armAll, () => writer.ask("create", createOf(path)))).toEqual([]);
      expect(await fired(armAll, () => setData(writer, path))).toEqual(["data-changed ~/n"]);
      expect(await fired(armAll, () => setData(writer, path))).toEqual(["data-changed ~/n"]);
      expect(await fired(armAll, () => create(writer, `${path}/k`))).toEqual(["children-changed ~/n"]);
      expect(await fired(armAll, () => remove(writer, `${path}/k`))).toEqual(["children-changed ~/n"]);
      expect(await fired(armAll, () => remove(writer, path))).toEqual(["deleted ~/n", "children-changed ~"]);
      const armAbsent = async (): Promise<void> => {
        await wire.ask("exists", { path, watch: true });
        await wire.ask("exists", { path, watch: true });
        await ok(wire.ask("getChildren2", { path: home, watch: true }));
      };
      expect(await fired(armAbsent, () => create(writer, path))).toEqual([
        "created ~/n",
        "children-changed ~",
      ]);
      expect(
        await fired(
          async () => {},
          () => remove(writer, path),
        ),
      ).toEqual([]);
    },
  },
  {
    number: 59,
    title:
      "who watches data, children and existence of a node hears once of its deletion, then of its parent's children",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      const path = `${home}/n`;
      await create(writer, path);
      for (const op of ["getData", "getChildren", "exists"] as const)
        await ok(wire.ask(op, { path, watch: true }));
      await ok(wire.ask("getChildren", { path: home, watch: true }));
      await remove(writer, path);
      await settled(wire);
      expect(wire.types).toEqual([`deleted ${path}`, `children-changed ${home}`]);
    },
  },
  {
    number: 60,
    title: "an event has the bytes that were captured",
    async run(trial) {
      const wire = await trial.open();
      await create(wire, "/w");
      await ok(wire.ask("getChildren", { path: "/w", watch: true }));
      await create(wire, "/w/a");
      expect((await wire.event(0)).hex).toBe("ffffffffffffffffffffffff000000000000000400000003000000022f77");
    },
  },
  {
    number: 61,
    title: "a writer gets its own event before its reply",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      await ok(wire.ask("getChildren", { path: home, watch: true }));
      const { place } = await wire.ask("create", createOf(`${home}/a`));
      expect(wire.events[0]?.place).toBe(place - 1);
    },
  },
  {
    number: 62,
    title: "setWatches sends the events that were missed, before its reply, and arms the rest",
    async run(trial) {
      const writer = await trial.open();
      const home = await trial.home(writer);
      for (const name of ["same", "changed", "gone", "again"]) await create(writer, `${home}/${name}`);
      const { zxid: relativeZxid } = await writer.ask("ping", undefined);
      await setData(writer, `${home}/changed`);
      await remove(writer, `${home}/gone`);
      await remove(writer, `${home}/again`);
      await create(writer, `${home}/again`);
      await create(writer, `${home}/born`);
      await create(writer, `${home}/brief`);
      await remove(writer, `${home}/brief`);
      const wire = await trial.open();
      const at = (...names: string[]): string[] => names.map((name) => `${home}/${name}`);
      const reply = await wire.ask(
        "setWatches",
        {
          relativeZxid,
          dataWatches: at("same", "changed", "gone", "again"),
          existWatches: at("born", "brief"),
          childWatches: [home, ...at("same", "gone")],
        },
        -8,
      );
      expect(reply).toMatchObject({ xid: -8, err: 0 });
      expect(wire.types).toEqual([
        `data-changed ${home}/changed`,
        `deleted ${home}/gone`,
        `data-changed ${home}/again`,
        `created ${home}/born`,
        `children-changed ${home}`,
        `deleted ${home}/gone`,
      ]);
      expect(Math.max(...wire.events.map(({ place }) => place))).toBe(reply.place - 1);
      await setData(writer, `${home}/same`);
      await create(writer, `${home}/same/child`);
      await create(writer, `${home}/brief`);
      await settled(wire);
      expect(wire.types.slice(6)).toEqual([
        `data-changed ${home}/same`,
        `children-changed ${home}/same`,
        `created ${home}/brief`,
      ]);
    },
  },
  {
    number: 63,
    title: "a persistent watch goes on through deletion and creation of its node",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      const path = `${home}/n`;
      expect(await ok(wire.ask("addWatch", { path, mode: 0 }))).toEqual({ err: 0 });
      await create(writer, path);
      for (const name of ["a", "b"]) await create(writer, `${path}/${name}`);
      await setData(writer, path);
      await setData(writer, path);
      for (const name of ["a", "b"]) await remove(writer, `${path}/${name}`);
      await remove(writer, path);
      await create(writer, path);
      await settled(wire);
      const types = ["created", "children-changed", "children-changed", "data-changed", "data-changed"];
      types.push("children-changed", "children-changed", "deleted", "created");
      expect(wire.types).toEqual(types.map((type) => `${type} ${path}`));
      expect(await errOf(wire, "addWatch", { path, mode: 7 })).toBe(-5);
    },
  },
  {
    number: 64,
    title: "a recursive watch sends events of every node below, and never of lists of children",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      await ok(wire.ask("addWatch", { path: home, mode: 1 }));
      await create(writer, `${home}/a`);
      await create(writer, `${home}/a/b`);
      await setData(writer, `${home}/a/b`);
      await remove(writer, `${home}/a/b`);
      await setData(writer, home);
      await create(writer, `${home}beside`);
      await settled(wire);
      expect(wire.types).toEqual([
        `created ${home}/a`,
        `created ${home}/a/b`,
        `data-changed ${home}/a/b`,
        `deleted ${home}/a/b`,
        `data-changed ${home}`,
      ]);
    },
  },
  {
    number: 65,
    title: "a one-shot watch where a persistent one is takes its place",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      await ok(wire.ask("addWatch", { path: home, mode: 0 }));
      await ok(wire.ask("getChildren", { path: home, watch: true }));
      for (const name of ["a", "b"]) await create(writer, `${home}/${name}`);
      for (let i = 0; i < 2; i++) await setData(writer, home);
      await settled(wire);
      expect(wire.types).toEqual([
        `children-changed ${home}`,
        `data-changed ${home}`,
        `data-changed ${home}`,
      ]);
    },
  },
  {
    number: 66,
    title: "removeWatches takes away the own watches, and says so when there are none",
    async run(trial) {
      const wire = await trial.open();
      const other = await trial.open();
      const home = await trial.home(other);
      await ok(wire.ask("getData", { path: home, watch: true }));
      await ok(wire.ask("getChildren", { path: home, watch: true }));
      expect(await errOf(other, "removeWatches", { path: home, type: 3 })).toBe(-121);
      for (const type of [4, 5, 9]) expect(await errOf(wire, "removeWatches", { path: home, type })).toBe(-5);
      expect(await errOf(wire, "removeWatches", { path: home, type: 1 })).toBe(0);
      expect(await errOf(wire, "removeWatches", { path: home, type: 1 })).toBe(-121);
      await create(other, `${home}/a`);
      expect(await errOf(wire, "removeWatches", { path: home, type: 3 })).toBe(0);
      await setData(other, home);
      await settled(wire);
      expect(wire.events).toEqual([]);
    },
  },
];
