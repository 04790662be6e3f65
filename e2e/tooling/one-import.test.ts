import { readFileSync } from "node:fs";
import * as core from "@holdfast/core";
import * as redis from "@holdfast/redis-recipes";
import * as zookeeper from "@holdfast/zk-recipes";
import { expect, it } from "vitest";

it.each(["zk-recipes", "redis-recipes"])(
  "@holdfast/%s hands on every type and value of core, so that one import is enough",
  (name) => {
    const index = readFileSync(new URL(`../../packages/${name}/src/index.ts`, import.meta.url), "utf8");
    expect(index).toMatch(/^export \* from "@holdfast\/core";$/m);
  },
);

it("what both hand on are the very classes of core, so that instanceof holds across packages", () => {
  expect(Object.keys(core)).toEqual(expect.arrayContaining(["LockLostError", "closeOnSignals"]));
  for (const [name, value] of Object.entries(core)) {
    expect((zookeeper as Record<string, unknown>)[name], name).toBe(value);
    expect((redis as Record<string, unknown>)[name], name).toBe(value);
  }
});
