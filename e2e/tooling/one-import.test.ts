import { readFileSync } from "node:fs";
import * as core from "@holdfast/core";
import * as redis from "@holdfast/redis-recipes";
import * as zookeeper from "@holdfast/zk-recipes";
import { expect, it } from "vitest";

const read = (path: string): string =>
  readFileSync(new URL(`../../packages/${path}`, import.meta.url), "utf8");

/** The names of all types and values that the main door of core has. */
function namesOfCore(): string[] {
  const index = read("core/src/index.ts");
  const all = [...index.matchAll(/export \* from "\.\/(.*?)\.js"/g)].flatMap(([, file]) =>
    [
      ...read(`core/src/${file}.ts`).matchAll(
        /^export (?:abstract )?(?:interface|type|class|function|const) (\w+)/gm,
      ),
    ].map(([, name = ""]) => name),
  );
  const named = [...index.matchAll(/export \{([^}]*)\}/g)].flatMap(([, names = ""]) =>
    [...names.matchAll(/(?:type )?(\w+),?/g)].map(([, name = ""]) => name),
  );
  return [...all, ...named].sort();
}

const reExported = (path: string): string[] =>
  [...read(path).matchAll(/^ {2}(?:type )?(\w+),$/gm)].map(([, name = ""]) => name).sort();

it.each(["zk-recipes", "redis-recipes"])(
  "@holdfast/%s hands on every type and value of core, so that one import is enough",
  (name) => {
    const names = namesOfCore();
    expect(names).toEqual(expect.arrayContaining(["LockHandle", "LockLostError", "closeOnSignals"]));
    expect(reExported(`${name}/src/core.ts`)).toEqual(names);
  },
);

it("what both hand on are the very classes of core, so that instanceof holds across packages", () => {
  for (const [name, value] of Object.entries(core)) {
    expect((zookeeper as Record<string, unknown>)[name], name).toBe(value);
    expect((redis as Record<string, unknown>)[name], name).toBe(value);
  }
});
