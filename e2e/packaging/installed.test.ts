import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  freePort,
  type RedisNode,
  startRedis,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { consumers, tryConsumer } from "../../scripts/consumers.mjs";
import { published } from "../../scripts/pack.mjs";
import { imports, importTimes, limits, weigh } from "../../scripts/weigh.mjs";
import { run } from "../support/process/run.js";
import { connected } from "../support/providers.js";
import { type Consumer, makeConsumer } from "./consumer.js";
import { Program } from "./program.js";

const packages = (await published()).map(({ name }) => name);
let server: ZooKeeperNode;
let consumer: Consumer;

async function redisForReadme(): Promise<RedisNode> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return redis;
}

beforeAll(async () => {
  [server, consumer] = await Promise.all([startZooKeeper(), makeConsumer()]);
}, 240_000);
afterAll(async () => {
  await consumer?.[Symbol.asyncDispose]();
  await server?.stop();
});

/** Declares the names that the first example of the guide uses without declaring them. */
const surroundings = `
const order = { id: 42 };
async function charge(what: typeof order, how: { fence: bigint | null; signal: AbortSignal }): Promise<void> {
  if (how.signal.aborted || how.fence === null) throw new Error("charged without a hold");
  console.log("charged", what.id);
}
async function report(until: AbortSignal): Promise<void> {
  console.log("reported", until.aborted);
}
`;

async function guideExample(): Promise<string> {
  const guide = await readFile(new URL("../../docs/guide/first-locks.md", import.meta.url), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? "";
  expect(example).toContain("127.0.0.1:2181");
  return example.replaceAll("127.0.0.1:2181", server.connectString);
}

/** Removes the types, so that JavaScript can run the text. It knows only the types of the guide's example. */
const withoutTypes = (text: string): string =>
  text.replace(/: (typeof order|\{ fence: [^}]*\}|Promise<void>|AbortSignal)/g, "");

const output = ["charged 42", "charged 42", "reported false"];

describe("the installed packages", () => {
  it.each(packages)("%s has every file that its exports name, its licence and its readme", async (name) => {
    const { exports } = await consumer.manifest(name);
    const folder = join(consumer.folder, "node_modules", name);
    const targets = Object.values(exports).flatMap((conditions) => Object.values(conditions));
    expect(targets.length).toBeGreaterThan(0);
    for (const file of [...targets, "LICENSE", "README.md"])
      expect(existsSync(join(folder, file)), file).toBe(true);
    expect(existsSync(join(folder, "test"))).toBe(false);
  });

  it.each(packages)("%s is found well-formed by publint", async (name) => {
    const tarball = await readFile(consumer.tarballs.get(name) ?? "");
    const { messages } = await publint({ strict: true, pack: { tarball: new Uint8Array(tarball).buffer } });
    expect(messages).toEqual([]);
  });

  it.each(packages)("%s has every file that its documents link to", async (name) => {
    const folder = join(consumer.folder, "node_modules", name);
    const files = await readdir(folder, { recursive: true });
    const dead: string[] = [];
    for (const file of files.filter((each) => each.endsWith(".md") && !each.includes("node_modules"))) {
      const text = await readFile(join(folder, file), "utf8");
      const links = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)];
      for (const [, link = "", attribute = ""] of links) {
        const [path = ""] = (link || attribute).split("#");
        if (path === "" || /^[a-z]+:/.test(path)) continue;
        const target = resolve(folder, dirname(file), path);
        if (!target.startsWith(folder) || !existsSync(target)) dead.push(`${file}: ${path}`);
      }
    }
    expect(dead).toEqual([]);
  });

  // One compiler run for all: most of its time goes into the declarations that they share.
  it("type-check, declarations included, in each example of their readmes, in the guide's first one, and with the errors and options that they export", async () => {
    const ofReadmes = await readFile(
      new URL("../../scripts/consumers/surroundings.d.ts", import.meta.url),
      "utf8",
    );
    const written = [await consumer.write("surroundings.d.ts", ofReadmes)];
    for (const name of packages) {
      const readme = await readFile(join(consumer.folder, "node_modules", name, "README.md"), "utf8");
      const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)];
      for (const [at, [, code = ""]] of examples.entries()) {
        const file = `${name.replace("@holdfast/", "")}-example-${at + 1}.mts`;
        written.push(await consumer.write(file, `export {};\n${code}`));
      }
    }
    expect(written.length).toBeGreaterThan(20);
    const example = await guideExample();
    written.push(await consumer.write("example.mts", `export {};\n${surroundings}${example}`));
    await consumer.write(
      "types.mts",
      `import { type LockHandle, type LockProvider, HoldfastError, LockLostError, closeOnSignals, memoryLocks, tokenGate } from "@holdfast/core";
import { openAcl, Perms, zookeeperLocks, type Acl, type ZooKeeperLocks, type ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { encodeFrame } from "@holdfast/zk-protocol";
const acl: readonly Acl[] = [...openAcl, { perms: Perms.READ, scheme: "world", id: "anyone" }];
const options: ZooKeeperLocksOptions = { connect: "h:1", acl, auth: [{ scheme: "digest", auth: "a:b" }] };
const locks: ZooKeeperLocks = zookeeperLocks(options);
const any: LockProvider = Math.random() > 2 ? memoryLocks() : locks;
export async function work(server: ZooKeeperNode): Promise<bigint | null> {
  using _ = closeOnSignals(any);
  await using lock: LockHandle = await any.mutex(server.connectString).acquire({ waitMs: 5 });
  const value: number = await any.reentrantMutex("x").withLock(async (inner, { signal }) => (inner.lost === signal ? 1 : 2));
  any.events.on("lost", ({ reason, heldMs }) => console.log(reason.length, heldMs.toFixed(), value));
  tokenGate().admit("x", lock.token ?? 0n);
  return lock.token;
}
export const told = (error: unknown): string =>
  error instanceof LockLostError ? error.reason : error instanceof HoldfastError ? error.code : typeof encodeFrame + typeof startZooKeeper;
// @ts-expect-error: a mistyped option
zookeeperLocks({ connect: "h:1", sesionTimeoutMs: 5 });
// @ts-expect-error: the body comes last
export const wrong = any.mutex("x").withLock(async () => {}, { waitMs: 5 });
`,
    );
    // A CommonJS module may require an ES module from Node.js 20.19 on, and the compiler allows it.
    await consumer.write(
      "types.cts",
      'import recipes = require("@holdfast/zk-recipes");\nexport const f: Function = recipes.zookeeperLocks;\n',
    );
    await consumer.write(
      "redis-types.mts",
      `import type { LockHandle, LockProvider } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { MissingRightError, redisLocks, ServerTooOldError, TooFewReplicasError, type RedisLocks, type RedisLocksOptions } from "@holdfast/redis-recipes";
import { Redis } from "ioredis";
const options: RedisLocksOptions = { client: new Redis({ lazyConnect: true }), replicas: 2, acks: "all", leaseMs: 10_000 };
const locks: RedisLocks = redisLocks(options);
const any: LockProvider = locks;
export async function work(): Promise<bigint | null> {
  await using both = await multiLock([locks.fairMutex("a"), any.mutex("b")]).acquire({ waitMs: 5 });
  await using lock: LockHandle = await locks.spinMutex("c").acquire();
  locks.events.on("server-warning", ({ code, message }) => console.log(code.length, message.length, both.parts.length));
  return lock.token;
}
export function told(error: unknown): string {
  if (error instanceof MissingRightError) return error.rights.join(" ");
  if (error instanceof TooFewReplicasError) return (error.needed - error.connected).toFixed();
  return error instanceof ServerTooOldError ? error.version : "";
}
// @ts-expect-error: a mistyped option
redisLocks({ url: "redis://h", leaseMS: 5 });
`,
    );
    // Strict, but without this option: an example uses the first element of a list without checking that it exists.
    await consumer.typeCheck(
      "--noUncheckedIndexedAccess",
      "false",
      ...written,
      "types.mts",
      "types.cts",
      "redis-types.mts",
    );
  });

  it("run the guide's first example as an ES module, and the process ends by itself", async () => {
    const file = await consumer.write("example.mjs", withoutTypes(surroundings) + (await guideExample()));
    const program = Program.start(file, consumer.folder);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual(output);
    expect(program.errors).toBe("");
  });

  it("run it from CommonJS by require()", async () => {
    const example = (await guideExample()).replace(
      /import \{ zookeeperLocks \} from ("[^"]+")/,
      "const { zookeeperLocks } = require($1)",
    );
    expect(example).toContain("require(");
    const body = `${withoutTypes(surroundings)}\n(async () => {\n${example}\n})();\n`;
    const file = await consumer.write("example.cjs", body);
    const program = Program.start(file, consumer.folder);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual(output);
    // Node.js must not warn that require() of an ES module is experimental.
    expect(program.errors).toBe("");
  });

  it("load in CommonJS by require() and by import(), and by import() alone where Node.js has no such require()", async () => {
    const file = await consumer.write(
      "loads.cjs",
      `(async () => {
  for (const name of process.argv.slice(2)) {
    let required;
    try {
      required = Object.keys(require(name));
    } catch (error) {
      required = error.code;
    }
    const imported = Object.keys(await import(name));
    console.log(name, Array.isArray(required) ? required.join() === imported.join() : required);
  }
})();
`,
    );
    // Left out: the conformance suites need vitest, and the apps are programs.
    const libraries = packages.filter((name) => !/conformance|chaos|cli|dashboard/.test(name));
    const loaded = (...flags: string[]): Promise<string> =>
      run(process.execPath, [...flags, file, ...libraries], { cwd: consumer.folder, withinMs: 20_000 });
    const lines = (required: string): string => libraries.map((name) => `${name} ${required}\n`).join("");
    expect(await loaded()).toBe(lines("true"));
    expect(await loaded("--no-experimental-require-module")).toBe(lines("ERR_REQUIRE_ESM"));
  });

  it.each([
    ["Redis", "redisLocks", async () => (await redisForReadme()).url, "redis://127.0.0.1:6379"],
    ["ZooKeeper", "zookeeperLocks", async () => server.connectString, "127.0.0.1:2181"],
  ])("run the first program of the readme for %s as it is pasted", async (_what, factory, address, given) => {
    const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
    const blocks = [...readme.matchAll(/```(sh|js)\n([\s\S]*?)```/g)].map(([, kind, code = ""]) => ({
      kind,
      code,
    }));
    const at = blocks.findIndex(({ kind, code }) => kind === "js" && code.includes(factory));
    const [commands = "", code = ""] = [blocks[at - 1]?.code, blocks[at]?.code];
    // A quick start has at most three commands and fifteen lines.
    expect(commands.trim().split("\n").length).toBeLessThanOrEqual(3);
    expect(code.trim().split("\n").length).toBeLessThanOrEqual(15);
    const [, install = ""] = /^npm install ([^#\n]*)/.exec(commands) ?? [];
    expect(packages).toEqual(expect.arrayContaining(install.trim().split(" ")));
    expect(code).toContain(given);
    const file = await consumer.write("lock.mjs", code.replace(given, await address()));
    const program = Program.start(file, consumer.folder);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual([
      expect.stringMatching(/^holding orders\/42 with the token \d+, lost: false$/),
    ]);
    expect(program.errors).toBe("");
  });

  it("bring the server that the readme starts for ZooKeeper", async () => {
    const port = await freePort();
    const command = join(consumer.folder, "node_modules/.bin/holdfast-zookeeper");
    const child = spawn(command, ["--port", `${port}`], { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    // Its first line is the address, printed once it listens.
    expect(`${await once(child.stdout, "data")}`).toContain(`127.0.0.1:${port}\n`);
    const locks = await connected(`127.0.0.1:${port}`);
    expect(await locks.mutex("orders/42").tryAcquire()).not.toBeNull();
  });

  it("resolve to what was built, whatever the repository's own tests resolve to", async () => {
    const file = await consumer.write(
      "resolve.mjs",
      packages.map((name) => `console.log(import.meta.resolve("${name}"));\n`).join(""),
    );
    const lines = (await run(process.execPath, [file], { cwd: consumer.folder, withinMs: 10_000 }))
      .trim()
      .split("\n");
    expect(lines).toHaveLength(packages.length);
    for (const line of lines) expect(line).toMatch(/holdfast-consumer-.*\/dist\/index\.js$/);
  });

  it("bring the command holdfast-servers", async () => {
    const command = join(consumer.folder, "node_modules/.bin/holdfast-servers");
    expect(await run(command, ["--help"], { withinMs: 10_000 })).toContain("ensure");
  });
});

describe("the weight of the installed packages", () => {
  const modules = (name: string): Promise<string[]> =>
    readdir(join(consumer.folder, "node_modules", name, "dist"), { recursive: true });

  it.each(packages)(
    "%s has a module for each entry and what entries share, no source and no map",
    async (name) => {
      const { exports } = await consumer.manifest(name);
      const files = await readdir(join(consumer.folder, "node_modules", name), { recursive: true });
      expect(files.filter((file) => /\.map$|(?<!\.d)\.[mc]?ts$|^src/.test(file))).toEqual([]);
      const entries = Object.values(exports).map(({ default: file }) => file?.replace("./dist/", ""));
      // These files are no entries: commands and workers are programs, and Node.js does not import the page of the dashboard.
      const programs = /^(cli|workload|service|history|page)\b/;
      const others = (await modules(name)).filter((file) => file.endsWith(".js") && !entries.includes(file));
      expect(others.filter((file) => !/^shared-[\w-]+\.js$/.test(file) && !programs.test(file))).toEqual([]);
    },
  );

  it.each(packages)("%s stays within its limits", async (name) => {
    const limit = limits[name];
    if (limit === undefined) throw new Error(`scripts/weigh.mjs has no limit for ${name}`);
    const weight = await weigh(consumer.folder, name);
    expect(weight.own).toBeGreaterThan(0);
    expect(weight.own).toBeLessThanOrEqual(limit.own);
    expect(weight.installed).toBeLessThanOrEqual(limit.installed);
  });

  it("take other releases of what they depend on, but for the one whose inside they touch", async () => {
    const exact: string[] = [];
    for (const name of packages) {
      const { dependencies = {} } = await consumer.manifest(name);
      for (const [each, range] of Object.entries(dependencies))
        if (!range.startsWith("^")) exact.push(`${name}: ${each} ${range}`);
    }
    expect(exact).toEqual([
      "@holdfast/chaos: node-zookeeper-client 1.1.3",
      "@holdfast/zk-recipes: node-zookeeper-client 1.1.3",
    ]);
  });

  /**
   * The limit is twice what `node scripts/weigh.mjs` shows. A busy machine slows both sides; a bundle that fell apart adds more
   * than this.
   */
  it("import in little more processor time than their client library", async () => {
    const times = await importTimes(
      consumer.folder,
      imports.flatMap(({ name, client }) => [client, name]),
      3,
    );
    const least = (name: string): number => Math.min(...(times.get(name) ?? []).map(({ cpu }) => cpu));
    for (const { name, client } of imports) {
      console.log(
        `import of ${name}: ${least(name).toFixed(0)} ms, of ${client}: ${least(client).toFixed(0)} ms`,
      );
      expect(least(name)).toBeLessThan(least(client) * 1.5 + 60);
    }
  });
});

describe("one process", () => {
  it("has one store for the scopes of all packages, and one class for each error", async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const file = await consumer.write(
      "one-store.mjs",
      `import hooks from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
let stores = 0;
hooks.AsyncLocalStorage = class extends hooks.AsyncLocalStorage {
  constructor(...args) {
    super(...args);
    stores++;
  }
};
syncBuiltinESMExports();
const core = await import("@holdfast/core");
const { zookeeperLocks } = await import("@holdfast/zk-recipes");
const { redisLocks, MissingRightError } = await import("@holdfast/redis-recipes");
const { multiLock } = await import("@holdfast/multi-lock");
const providers = [core.memoryLocks(), zookeeperLocks({ connect: process.argv[2] }), redisLocks({ url: process.argv[3] })];
for (const locks of providers) {
  const refused = await locks.reentrantMutex("one").withLock(() =>
    multiLock([locks.reentrantMutex("one"), locks.mutex("two")]).acquire({ waitMs: 1_000 }).catch((reason) => reason),
  );
  const held = await locks.mutex("taken").acquire();
  // Where no server has answered by then, the error is that of an outage.
  const error = await locks.mutex("taken").acquire({ waitMs: 1_000 }).catch((reason) => reason);
  console.log(refused instanceof core.DeadlockError, error instanceof core.AcquireTimeoutError);
  await held.release();
  await locks.close();
}
try {
  multiLock([]);
} catch (error) {
  console.log(error instanceof core.InvalidArgumentError);
}
const required = createRequire(import.meta.url)("@holdfast/core");
console.log(required.HoldfastError === core.HoldfastError, MissingRightError.prototype instanceof core.HoldfastError);
console.log("stores", stores);
`,
    );
    const program = Program.start(file, consumer.folder, [server.connectString, redis.url]);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual([
      ...["true true", "true true", "true true"],
      ...["true", "true true", "stores 1"],
    ]);
  });
});

describe("the packages beside what users have", () => {
  const full = process.env.HOLDFAST_FULL === "1";
  const chosen = consumers.filter(({ inShare }) => full || inShare);
  console.log(`share ${chosen.length}/${consumers.length} projects of users`);

  it.each(chosen)("install, compile and run beside $name", async (each) => {
    await expect(tryConsumer(each, consumer.tarballs)).resolves.toBeUndefined();
  });
});

describe("the apps, installed", () => {
  const command = (name: string): string => join(consumer.folder, "node_modules/.bin", name);
  const withinMs = 60_000;

  it("the dashboard says what it takes, and refuses a configuration with an unknown key", async () => {
    expect(await run(command("holdfast-dashboard"), ["--help"], { withinMs })).toContain("Usage");
    const config = await consumer.write("dashboard.yaml", "prot: 5\n");
    await expect(run(command("holdfast-dashboard"), ["--config", config], { withinMs })).rejects.toThrow(
      "prot",
    );
  });

  it("holdfast starts its second process from where it is installed, and runs a command under a lock", async () => {
    const args = ["run", "--zookeeper", server.connectString, "--", "sh", "-c", "echo $HOLDFAST_LOCK"];
    expect(await run(command("holdfast"), args, { withinMs })).toBe("sh\n");
  });

  it("the chaos runner lists its scenarios and judges the histories that it brings along", async () => {
    expect(await run(command("holdfast-chaos"), ["list", "--tag", "smoke"], { withinMs })).toContain("Z03f");
    const out = join(consumer.folder, "chaos");
    const told = await run(command("holdfast-chaos"), ["run", "S01", "--out", out], {
      cwd: consumer.folder,
      withinMs,
    });
    expect(told).toMatch(/1 as-expected/);
    expect(existsSync(join(out, "junit.xml"))).toBe(true);
  });

  it("the chaos runner can make each of its mutants of the packages beside it", async () => {
    const file = await consumer.write(
      "mutants.mjs",
      `import { mutants, patchedText } from "@holdfast/chaos/mutants";
console.log(mutants.filter((mutant) => !patchedText(mutant).includes(mutant.replace)).length, mutants.length > 9);
`,
    );
    expect((await run(process.execPath, [file], { cwd: consumer.folder, withinMs })).trim()).toBe("0 true");
  });

  if (process.env.HOLDFAST_FULL === "1")
    it("the chaos runner breaks a cluster with workers of the packages beside it", async () => {
      const args = ["run", "Z03f", "--out", join(consumer.folder, "broken"), "--seed", "7"];
      const told = await run(command("holdfast-chaos"), args, { cwd: consumer.folder, withinMs: 120_000 });
      expect(told).toMatch(/1 as-expected/);
    });

  it("the metrics register beside an application's own", async () => {
    const file = await consumer.write(
      "metrics.mjs",
      `import { memoryLocks } from "@holdfast/core";
import { lockMetrics } from "@holdfast/metrics";
const locks = memoryLocks();
const metrics = lockMetrics(locks);
await locks.mutex("a").withLock(async () => {});
console.log((await metrics.registry.metrics()).includes("holdfast_"));
await locks.close();
`,
    );
    expect(await run(process.execPath, [file], { cwd: consumer.folder, withinMs })).toContain("true");
  });
});

describe("the collectors, installed", () => {
  it.each([
    ["zookeeper", "node-zookeeper-client", "ioredis"],
    ["redis", "ioredis", "node-zookeeper-client"],
  ])("the one for %s loads %s, and not %s", async (backend, own, others) => {
    const file = await consumer.write(
      `collector-${backend}.mjs`,
      `import { createRequire } from "node:module";
await import("@holdfast/collectors/${backend}");
const loaded = Object.keys(createRequire(import.meta.url).cache);
for (const name of ["${own}", "${others}"]) console.log(name, loaded.some((path) => path.includes(\`/\${name}/\`)));
`,
    );
    const told = await run(process.execPath, [file], { cwd: consumer.folder, withinMs: 10_000 });
    expect(told.trim().split("\n")).toEqual([`${own} true`, `${others} false`]);
  });

  it("are in their own package alone", async () => {
    for (const name of ["@holdfast/core", "@holdfast/zk-recipes", "@holdfast/redis-recipes"]) {
      const files = await readdir(join(consumer.folder, "node_modules", name), { recursive: true });
      expect(files.filter((file) => /collector|observe\//.test(file))).toEqual([]);
    }
  });
});

describe("the Redis packages, installed", () => {
  it.each([
    ["an ES module", "mjs", (name: string, from: string) => `import { ${name} } from "${from}";`],
    ["CommonJS", "cjs", (name: string, from: string) => `const { ${name} } = require("${from}");`],
  ])("lock one name and several from %s", async (_what, suffix, imports) => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const file = await consumer.write(
      `redis.${suffix}`,
      `${imports("redisLocks", "@holdfast/redis-recipes")}
${imports("multiLock", "@holdfast/multi-lock")}
(async () => {
  const locks = redisLocks({ url: process.argv[2] });
  const both = await multiLock([locks.mutex("b"), locks.mutex("a")]).acquire();
  console.log(both.parts.map(({ name }) => name).join(" "), await both.release());
  console.log(JSON.stringify(await locks.close()));
})();
`,
    );
    const program = Program.start(file, consumer.folder, [redis.url]);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual(["a b released", '{"released":0,"unconfirmed":[]}']);
    expect(program.errors).toBe("");
  });
});

describe("a process that has released everything", () => {
  it.each([
    ["an acquire and release", "const lock = await locks.mutex(name).acquire(); await lock.release();"],
    ["a scope", "await locks.reentrantMutex(name).withLock(async () => {});"],
    [
      "a hold of some length, with its loss and its revocation listened to",
      `
      const lock = await locks.mutex(name).acquire({ revocable: true });
      lock.lost.addEventListener("abort", () => console.log("lost"));
      lock.revokeRequested.addEventListener("abort", () => console.log("revoked"));
      await new Promise((resolve) => setTimeout(resolve, 400));
      await lock.confirm();
      await lock.release();`,
    ],
    [
      "a wait in vain",
      `
      const lock = await locks.mutex(name).acquire();
      await locks.mutex(name).acquire({ waitMs: 500 }).catch((error) => console.log(error.code));
      await locks.mutex(name).acquire({ signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name));
      await lock.release();`,
    ],
    ["nothing but a look", "console.log((await locks.mutex(name).inspect()).held.length);"],
  ])("ends by itself, with code 0 and without close(): %s", async (what, body) => {
    const file = await consumer.write(
      `ends-${what.replace(/\W+/g, "-")}.mjs`,
      `import { zookeeperLocks } from "@holdfast/zk-recipes";
const locks = zookeeperLocks({ connect: process.argv[2], sessionTimeoutMs: 10_000 });
const name = ${JSON.stringify(what)};
${body}
console.log("done");
`,
    );
    const program = Program.start(file, consumer.folder, [server.connectString]);
    const ending = await program.end();
    expect(ending, program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines.at(-1)).toBe("done");
    expect(program.errors).toBe("");
    expect(ending.afterLastLineMs).toBeLessThan(9_000);
  });

  it("ends by itself after close(), too, and its session is gone with it", async () => {
    const file = await consumer.write(
      "closes.mjs",
      `import { zookeeperLocks } from "@holdfast/zk-recipes";
const locks = zookeeperLocks({ connect: process.argv[2], sessionTimeoutMs: 10_000 });
await locks.mutex("/closes").acquire();
console.log(JSON.stringify(await locks.close()));
`,
    );
    const program = Program.start(file, consumer.folder, [server.connectString]);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual(['{"released":1,"unconfirmed":[]}']);
    const locks = await connected(server.connectString);
    expect(await locks.mutex("/closes").tryAcquire()).not.toBeNull();
  });

  it("is not kept by a server that cannot be reached", async () => {
    const file = await consumer.write(
      "unreachable.mjs",
      `import { zookeeperLocks } from "@holdfast/zk-recipes";
zookeeperLocks({ connect: "127.0.0.1:1" });
console.log("done");
`,
    );
    const program = Program.start(file, consumer.folder);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.errors).toBe("");
  });
});

describe("a process that is asked to end", () => {
  const holder = (body: string): string => `import { closeOnSignals } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
const locks = zookeeperLocks({ connect: process.argv[2], sessionTimeoutMs: Number(process.argv[3]) });
${body}
await locks.mutex("/signalled").acquire();
console.log("holding");
setInterval(() => {}, 1_000);
`;

  it.each(["SIGTERM", "SIGINT"] as const)(
    "by %s releases first with closeOnSignals, and ends by that signal",
    async (signal) => {
      const file = await consumer.write("signalled.mjs", holder("closeOnSignals(locks);"));
      const program = Program.start(file, consumer.folder, [server.connectString, "10000"]);
      await program.says("holding");
      const locks = await connected(server.connectString);
      const waiting = locks.mutex("/signalled").acquire({ waitMs: 20_000 });
      const startedMs = performance.now();
      program.child.kill(signal);
      const lock = await waiting;
      const tookMs = performance.now() - startedMs;
      expect(await program.end(), program.errors).toMatchObject({ code: null, signal });
      console.log(`${signal}: the next holder was in after ${Math.round(tookMs)} ms`);
      // Without a release the lock would stay taken until the session ends, after ten seconds.
      expect(tookMs).toBeLessThan(9_000);
      await lock.release();
    },
  );

  it("within its grace ends lead() first, lets a request finish, refuses others, and ends by the signal", async () => {
    const file = await consumer.write(
      "graceful.mjs",
      `import { closeOnSignals } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
const locks = zookeeperLocks({ connect: process.argv[2], sessionTimeoutMs: 10_000 });
closeOnSignals(locks, { graceMs: 60_000 });
const request = await locks.mutex("/graceful").acquire();
const aborted = (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
const { signal: never } = new AbortController();
const leading = locks.leaderElection("/graceful-leader").lead({ signal: never }, async (term, { signal }) => {
  console.log("leading");
  await aborted(signal);
});
process.once("SIGTERM", async () => {
  await leading;
  console.log("led");
  await locks.mutex("/graceful-other").acquire().catch((error) => console.log(error.code));
  await request.confirm();
  console.log(await request.release());
});
`,
    );
    const program = Program.start(file, consumer.folder, [server.connectString]);
    await program.says("leading");
    program.child.kill("SIGTERM");
    expect(await program.end(), program.errors).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(program.lines).toEqual(["leading", "led", "HF_PROVIDER_CLOSED", "released"]);
    expect(program.errors).toBe("");
  });

  it("without closeOnSignals leaves its hold to the end of its session: the library sets no handlers", async () => {
    const file = await consumer.write(
      "unsignalled.mjs",
      holder("console.log(process.listenerCount('SIGTERM'));"),
    );
    const locks = await connected(server.connectString);
    // The session outlasts the end of the process and the try after it also where a busy machine is slow with both.
    const program = Program.start(file, consumer.folder, [server.connectString, "8000"]);
    await program.says("holding");
    expect(program.lines[0]).toBe("0");
    program.child.kill("SIGTERM");
    expect(await program.end()).toMatchObject({ signal: "SIGTERM" });
    expect(await locks.mutex("/signalled").tryAcquire()).toBeNull();
    // The lock becomes free when the session ends.
    await using lock = await locks.mutex("/signalled").acquire({ waitMs: 20_000 });
    expect(lock.state).toBe("held");
  });
});
