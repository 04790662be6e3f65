import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, freePort, type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { cellsOf } from "../../src/look/table.js";
import { begin, lineOf, printed, run, stepsOf, unsafeIn } from "./support.js";

let node: RedisNode;
beforeAll(async () => {
  node = await startRedis();
});
afterAll(() => node.stop());
beforeEach(async () => {
  await node.command("FLUSHALL");
});

const at = (): string[] => ["--redis", node.url];
const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
/** The UUID of a Redisson client. */
const java = "0c1b9c2e-3b0a-4c5d-9e6f-112233445566";

async function client(identity = true): Promise<RedisLocks> {
  const locks = redisLocks({ url: node.url, identity });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
  return locks;
}

/** Begins to wait for the lock. Resolves once the server has the waiter, which goes on waiting in the background. */
async function waits(locks: RedisLocks, name: string): Promise<{ readonly granted: Promise<unknown> }> {
  const before = Number(await node.command("LLEN", `holdfast_waiters:{${name}}`));
  const waiting = locks.mutex(name).acquire({ waitMs: 120_000 });
  waiting.catch(() => {});
  await eventually(async () => Number(await node.command("LLEN", `holdfast_waiters:{${name}}`)) > before, {
    what: `a waiter of ${name}`,
  });
  return { granted: waiting };
}

/** Writes a held mutex as Redisson does: a hash of owner and count, with a lease. */
async function redissonHolds(key: string, leaseMs: number | null = 60_000): Promise<void> {
  await node.command("HSET", key, `${java}:57`, "1");
  if (leaseMs !== null) await node.command("PEXPIRE", key, String(leaseMs));
}

describe("holdfast ls", () => {
  test("lists what is wrong first, then the most waiters, with labels, ages and locks of Redisson", async () => {
    const locks = await client();
    await locks.mutex("alone").acquire();
    await locks.mutex("crowd").acquire();
    await waits(locks, "crowd");
    await waits(locks, "crowd");
    await redissonHolds("java");
    await redissonHolds("never", null);
    const permits = locks.permitSemaphore("permits");
    await permits.setLimit(3);
    await permits.acquire();
    await node.command("SET", "text", "no lock");
    const { code, out, err } = await run(["ls", ...at()]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
      "LOCK",
      "never",
      "crowd",
      "alone",
      "java",
      "permits",
    ]);
    expect(lines[1]).toMatch(/mutex +held +0c1b9c2e…:57 +unknown +0 +- +critical: no lease$/);
    expect(lines[2]).toMatch(/mutex +contended +\S+ +\d+ s +2 +unknown +-$/);
    expect(lines[5]).toMatch(/permit semaphore +held +1 of 3 permits /);
    const some = await run(["ls", "j?va", ...at()]);
    expect(some.out.trimEnd().split("\n")).toHaveLength(2);
    const narrow = await run(["ls", ...at()], { columns: 60 });
    for (const line of narrow.out.split("\n")) expect(cellsOf(line)).toBeLessThanOrEqual(60);
    expect(lineOf(narrow.out, "crowd")).toMatch(/contended .* 2\b/);
  });

  test("says of a hold that lasts longer than 5 min while others wait that it is stuck", async () => {
    // These are the keys that holdfast writes: the token is the server's time at the grant, in microseconds.
    await node.command("HSET", "stuck", "19e6a8a0-5eb1-8653-8106-f7873621c3b3:1", "1");
    await node.command("PEXPIRE", "stuck", "60000");
    await node.command("SET", "redisson_lock_token:{stuck}", String((Date.now() - 360_000) * 1_000));
    await node.command("RPUSH", "holdfast_waiters:{stuck}", "dbdc6853-93db-89b1-95e1-15ad3f9ce79d:1 30000");
    const { out } = await run(["ls", ...at()]);
    expect(lineOf(out, "stuck")).toMatch(/ 6 min( \d+ s)? .* critical: stuck with waiters$/);
  });

  test("prints no character of a hostile name or label that a terminal would obey, and looks behind the key prefix alone", async () => {
    const locks = await client(false);
    const name = "a\u001b[2J\u202e\nb";
    await locks.mutex(name).acquire();
    await locks.leaderElection("boss").campaign({ label: "chief\u001b[31m" });
    await locks.mutex("shop:orders").acquire();
    const { out } = await run(["ls", ...at()]);
    expect(unsafeIn(out)).toEqual([]);
    expect(lineOf(out, "a\\u{1b}[2J\\u{202e}\\u{a}b")).toMatch(/mutex +held/);
    const shown = await run(["show", "a\\u{1b}[2J\\u{202e}\\u{a}b", ...at()]);
    expect(shown).toMatchObject({ code: 0 });
    expect(unsafeIn(shown.out)).toEqual([]);
    const boss = await run(["show", "boss", ...at()]);
    expect(boss.out).toMatch(/leader election(.|\n)*held by {2}chief\\u\{1b\}\[31m/);
    const shop = await run(["ls", ...at(), "--key-prefix", "shop:"]);
    expect(shop.out.trimEnd().split("\n")).toHaveLength(2);
    expect(await run(["show", "orders", ...at(), "--key-prefix", "shop:"])).toMatchObject({ code: 0 });
  });
});

test("holdfast show prints holder, lease, token, queue in order and keys; of no such lock it names similar ones and ends with 1", async () => {
  const [locks, other] = [await client(), await client(false)];
  const held = await locks.mutex("orders").acquire();
  await waits(locks, "orders");
  await waits(other, "orders");
  const { code, out } = await run(["show", "orders", ...at()]);
  expect(code).toBe(0);
  expect(out).toContain(`token    ${held.token}`);
  expect(out).toMatch(new RegExp(`held by {2}.*pid ${process.pid}`));
  expect(out).toMatch(/lives {4}a lease, \d+ s left/);
  expect(out).toMatch(new RegExp(`2 in the queue, next first\n.*\n1 .*pid ${process.pid}.*\n2 .*:\\d+ `));
  expect(out).toMatch(/at the backend\n {2}key {2}orders\n {2}TYPE {2}hash/);
  const wrong = await run(["show", "order", ...at()]);
  expect(wrong).toMatchObject({
    code: 1,
    out: "",
    err: "holdfast: there is no lock order; did you mean orders?\n",
  });
});

test("holdfast waits calls a circle of two threads of Redisson certain, and that of two clients of holdfast possible", async () => {
  const [one, two] = [await client(false), await client(false)];
  await one.mutex("a").acquire();
  await two.mutex("b").acquire();
  await waits(one, "b");
  await waits(two, "a");
  for (const [key, holder, waiter] of [
    ["left", 1, 2],
    ["right", 2, 1],
  ]) {
    await node.command("HSET", String(key), `${java}:${holder}`, "1");
    await node.command("PEXPIRE", String(key), "60000");
    // Writes a fair lock of Redisson: its queue, and the time until which each waiter counts.
    await node.command("RPUSH", `redisson_lock_queue:{${key}}`, `${java}:${waiter}`);
    await node.command(
      "ZADD",
      `redisson_lock_timeout:{${key}}`,
      String(Date.now() + 60_000),
      `${java}:${waiter}`,
    );
  }
  const { code, out } = await run(["waits", ...at()]);
  expect(code).toBe(0);
  expect(lineOf(out, "left")).toMatch(/0c1b9c2e…:2 +unknown +0c1b9c2e…:1 +in \d+ s/);
  expect(out).toMatch(
    /A deadlock, certain: .*\n {2}0c1b9c2e…:[12] waits for (left|right), held by 0c1b9c2e…:[12]\n/,
  );
  expect(out).toMatch(/A deadlock, possible: .*\n {2}\S+ waits for [ab], held by /);
});

test("holdfast watch prints grants, a hold whose lease ran out, and as JSON one object a line", async () => {
  const locks = await client();
  const held = await locks.mutex("orders").acquire();
  const watching = begin(["watch", ...at()]);
  const asJson = begin(["watch", "orders", "--json", ...at()]);
  await printed(watching, /^holdfast: watching/);
  await printed(asJson, /^holdfast: watching/);
  const next = locks.mutex("orders").acquire({ waitMs: 120_000 });
  await printed(watching, / {2}waits +orders {2}.*, 1 waiting, held by /);
  await held.release();
  const second = await next;
  await printed(watching, new RegExp(`  granted +orders  to .*pid ${process.pid}.*, token ${second.token}$`));
  const line = await printed(asJson, new RegExp(`"granted".*"${second.token}"`));
  expect(JSON.parse(line)).toMatchObject({ event: "granted", lock: "orders", who: { pid: process.pid } });
  await redissonHolds("java", 5_000);
  await printed(watching, / {2}granted +java {2}to 0c1b9c2e…:57/);
  await printed(watching, / {2}lost +java {2}by 0c1b9c2e…:57: its lease ran out$/);
  watching.interrupt();
  asJson.interrupt();
  expect(await watching.ended).toMatchObject({ code: 0 });
  expect(await asJson.ended).toMatchObject({ code: 0 });
  expect(asJson.out()).not.toContain("java");
});

test("holdfast watch ends when its output is not read any more", async () => {
  const locks = await client();
  const watching = spawn(process.execPath, [program, "watch", ...at()], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void watching.kill("SIGKILL"));
  const ended = once(watching, "exit");
  let said = "";
  watching.stderr.on("data", (data: Buffer) => {
    said += data;
  });
  await eventually(() => said.includes("watching"), { what: "it to watch", withinMs: 30_000 });
  watching.stdout.destroy();
  await locks.mutex("orders").acquire();
  expect(await ended).toEqual([0, null]);
});

test("holdfast release --force does nothing to a lock that has the name in another way, and names it", async () => {
  const locks = await client();
  const leading = await locks.leaderElection("scheduler").campaign();
  const { code, err } = await run(["release", "--force", "--yes", "scheduler", ...at()]);
  expect({ code, leads: leading.state }).toEqual({ code: 2, leads: "held" });
  expect(err).toContain("holdfast_election:{scheduler}");
  const held = await locks.mutex("orders").acquire();
  const behind = ["--key-prefix", "app:"];
  expect(await run(["release", "--force", "--yes", "orders", ...behind, ...at()])).toMatchObject({ code: 2 });
  expect(held.state).toBe("held");
  const elected = ["release", "--force", "--yes", "holdfast_election:{scheduler}", ...at()];
  expect(await run(elected)).toMatchObject({ code: 0 });
  await eventually(() => leading.state === "lost", { what: "the leader to be told" });
});

test("holdfast release --force takes the whole key of an election behind the key prefix, with and without braces in its name", async () => {
  const locks = redisLocks({ url: node.url, keyPrefix: "app:" });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  const release = (key: string) => run(["release", "--force", "--yes", key, "--key-prefix", "app:", ...at()]);
  for (const [name, key] of [
    ["scheduler", "holdfast_election:{app:scheduler}"],
    ["jobs:{42}", "holdfast_election:app:jobs:{42}"],
  ] as const) {
    const leading = await locks.leaderElection(name).campaign();
    expect(await release(key), key).toMatchObject({ code: 0 });
    await eventually(() => leading.state === "lost", { what: `the leader of ${name} to be notified` });
  }
  const others = await (await client()).leaderElection("jobs:{42}").campaign();
  expect(await release("holdfast_election:jobs:{42}")).toMatchObject({ code: 2 });
  expect(others.state).toBe("held");
});

test("holdfast release --force frees a mutex, whose next waiter is granted, a lock of Redisson, and each permit; not without --yes", async () => {
  const locks = await client();
  const held = await locks.mutex("orders").acquire();
  const next = await waits(locks, "orders");
  expect(await run(["release", "--force", "orders", ...at()])).toMatchObject({ code: 2 });
  expect(held.state).toBe("held");
  const { code, out } = await run(["release", "--force", "--yes", "orders", ...at()]);
  expect(code).toBe(0);
  expect(out).toMatch(/Released\. Now it is held by \S+, 0 waiting\.\n$/);
  await eventually(() => held.state === "lost", { what: "the holder to be told" });
  await next.granted;
  await redissonHolds("java");
  const javas = await run(["release", "--force", "--yes", "java", ...at()]);
  expect(javas.code).toBe(0);
  expect(javas.out).toContain("of Redisson, is NOT notified");
  expect(await node.command("EXISTS", "java")).toBe(0);
  const permits = locks.permitSemaphore("permits");
  await permits.setLimit(2);
  await permits.acquire();
  await permits.acquire();
  expect(await run(["release", "--force", "--yes", "permits", ...at()])).toMatchObject({ code: 0 });
  expect(await node.command("GET", "permits")).toBe("2");
  await node.command("SET", "text", "no lock");
  expect(await run(["release", "--force", "--yes", "text", ...at()])).toMatchObject({ code: 1 });
  expect(await node.command("GET", "text")).toBe("no lock");
});

describe("holdfast doctor", () => {
  test("says ok of each step on a Redis that is as it should be", async () => {
    await using safe = await startRedis({ appendOnly: "everysec" });
    const { code, out, err } = await run(["doctor", "--redis", safe.url]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(stepsOf(out)).toEqual(
      [
        "configuration",
        "name",
        "port",
        "connection",
        "version",
        "eviction",
        "persistence",
        "lock",
        "clock",
      ].map((name) => `ok ${name}`),
    );
    expect(await safe.command("EXISTS", "holdfast-doctor")).toBe(0);
  });

  test("warns once of an eviction policy that throws locks away, and of a server that forgets them at a restart", async () => {
    await node.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    onTestFinished(() => node.command("CONFIG", "SET", "maxmemory-policy", "noeviction").then(() => {}));
    const { code, out } = await run(["doctor", ...at()]);
    expect(code).toBe(0);
    expect(out).toMatch(/warning +server +.*maxmemory-policy is allkeys-lru.*\n +what to do: .*noeviction/);
    expect(out.split("allkeys-lru")).toHaveLength(2);
    expect(out).toMatch(
      /warning +persistence +.*append only file is off.*\n +what to do: CONFIG SET appendonly yes/,
    );
    expect(out).not.toMatch(/^ok +eviction/m);
  });

  test("fails at a replica, at a user without the rights, and at a wrong password, and says which", async () => {
    const replica = await startRedis({ config: { replicaof: `127.0.0.1 ${node.port}` } });
    onTestFinished(() => replica.stop());
    const led = await run(["doctor", "--redis", replica.url]);
    expect(led.code).toBe(1);
    expect(led.out).toMatch(
      /failed +role +\S+ is a replica of 127\.0\.0\.1:\d+\n +what to do: locks need the master/,
    );
    const guarded = await startRedis({ users: ["default on nopass ~* &* +@all -pexpire"] });
    onTestFinished(() => guarded.stop());
    const denied = await run(["doctor", "--redis", guarded.url]);
    expect(denied.code).toBe(1);
    expect(denied.out).toMatch(/failed +rights +.*\n +what to do: ACL SETUSER \.\.\. \+pexpire/);
    const secured = await startRedis({ password: "secret" });
    onTestFinished(() => secured.stop());
    const refused = await run(["doctor", "--redis", secured.url]);
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(/failed +connection +.*NOAUTH.*\n +what to do: correct the credentials/);
  });
});

test("a Redis that is not there, or refuses, is one sentence with its address and without a password, and exit code 125", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  for (const line of [["ls"], ["show", "a"], ["watch"], ["waits"], ["release", "--force", "--yes", "a"]]) {
    const { code, out, err } = await run([...line, "--redis", `redis://${address}`]);
    expect({ line, code, out }).toEqual({ line, code: 125, out: "" });
    expect(err).toBe(`holdfast: Redis at ${address} is not reached: the connection was refused\n`);
  }
  const secured = await startRedis({ password: "secret" });
  onTestFinished(() => secured.stop());
  const { code, out, err } = await run(["ls", "--redis", secured.url]);
  expect({ code, out }).toEqual({ code: 125, out: "" });
  expect(err).toMatch(/^holdfast: Redis at \S+ (refuses|is not reached): [^\n]*NOAUTH[^\n]*\n$/);
});
