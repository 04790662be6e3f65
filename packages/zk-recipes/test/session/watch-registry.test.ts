import { syncConnectedState, type WatcherEvent } from "@holdfast/zk-protocol";
import { expect, test } from "vitest";
import { type Watch, WatchRegistry } from "../../src/session/watch-registry.js";

test("the watches of 20,000 listeners of one path end in less than half a second of a core", () => {
  const registry = new WatchRegistry();
  const watches = Array.from(
    { length: 20_000 },
    (): Watch => ({ path: "/gate", table: "data", phase: "armed", awaitsCreation: false, fired: () => {} }),
  );
  for (const watch of watches) registry.add(watch);
  const since = process.cpuUsage();
  const last = watches.map((watch) => registry.end(watch));
  const { user, system } = process.cpuUsage(since);
  expect((user + system) / 1_000).toBeLessThan(500);
  expect(last.indexOf(true)).toBe(watches.length - 1);
  expect(registry.size).toBe(0);
});

test("an event uses up the armed watches of its path, in the order in which they were set, and no watch that is only asked for", () => {
  const registry = new WatchRegistry();
  const changed: WatcherEvent = { type: "data-changed", state: syncConnectedState, path: "/gate" };
  const heard: string[] = [];
  const add = (name: string, phase: Watch["phase"]): Watch => {
    const fired = () => void heard.push(name);
    const watch: Watch = { path: "/gate", table: "data", phase, awaitsCreation: false, fired };
    registry.add(watch);
    return watch;
  };
  add("first", "armed");
  const asked = add("asked", "asked");
  add("second", "armed");
  registry.fire(changed);
  registry.fire(changed);
  expect(heard).toEqual(["first", "second"]);
  expect([...registry.armedPaths().data]).toEqual([]);
  asked.phase = "armed";
  expect([...registry.armedPaths().data]).toEqual(["/gate"]);
  registry.fire(changed);
  expect(heard).toEqual(["first", "second", "asked"]);
  expect(registry.size).toBe(0);
});
