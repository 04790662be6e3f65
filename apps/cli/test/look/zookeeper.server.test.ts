import { type AddressInfo, createServer, type Socket } from "node:net";
import { systemRuntime } from "@holdfast/core";
import { type EmbeddedZooKeeper, eventually, freePort, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { type Acl, openAcl, Perms, type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { openSession, parseConnectString } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { cellsOf } from "../../src/look/table.js";
import { begin, lineOf, printed, run, stepsOf, unsafeIn } from "./support.js";

/** ZooKeeper's flags for these kinds of node. */
const persistentSequential = 2;
const ephemeralSequential = 3;

let server: EmbeddedZooKeeper;
beforeAll(async () => {
  server = await startEmbeddedZooKeeper();
});
afterAll(() => server.stop());

/** The options for a root, of which each test has its own. */
const at = (root: string): string[] => ["--zookeeper", server.connectString, "--root", root];

async function client(root: string, identity = true): Promise<ZooKeeperLocks> {
  const locks = zookeeperLocks({ connect: server.connectString, root, identity });
  onTestFinished(async () => void (await locks.close()));
  await locks.ready();
  return locks;
}

/** Begins a wait in the background. How the wait ends is up to the test. */
function waits(locks: ZooKeeperLocks, name: string): Promise<unknown> {
  const waiting = locks.mutex(name).acquire({ waitMs: 120_000 });
  waiting.catch(() => {});
  return waiting;
}

async function queued(path: string, count: number): Promise<void> {
  await eventually(() => server.nodes(path).length === count + 1, { what: `${count} contenders of ${path}` });
}

/** Writes a contender as Curator does: a node with a protected name and an address, in its own session. */
async function curator(path: string): Promise<void> {
  const { servers } = parseConnectString(server.connectString);
  const session = openSession({ servers, sessionTimeoutMs: 30_000, runtime: systemRuntime });
  onTestFinished(() => session.close());
  await session.whenConnected();
  await session.request("create", {
    path: `${path}/_c_3f2c91ab-77aa-4b1e-9d0c-000000000057-lock-`,
    data: Buffer.from("10.2.3.4"),
    acl: openAcl,
    flags: ephemeralSequential,
  });
}

/**
 * Sets the ACL of a node. A session that watches the node notices the change only on its next connection. So the connections of
 * sessions without nodes are ended.
 */
async function permit(path: string, acl: readonly Acl[]): Promise<void> {
  const { servers } = parseConnectString(server.connectString);
  const session = openSession({ servers, sessionTimeoutMs: 30_000, runtime: systemRuntime });
  await session.whenConnected();
  await session.request("setACL", { path, acl, version: -1 });
  await session.close();
  for (const { id, ephemerals } of server.sessions()) if (ephemerals.length === 0) server.dropConnection(id);
}

test("a naive mutex is shown by its name, and released by force", async () => {
  const locks = await client("/naive");
  const held = await locks.naiveMutex("one").acquire();
  const shown = await run(["show", "one", ...at("/naive")]);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toContain("naive mutex");
  expect((await run(["release", "--force", "one", "--yes", ...at("/naive")])).code).toBe(0);
  await eventually(() => held.state === "lost", { what: "the loss" });
});

test.each([["doctor"], ["ls", "--schedules"]])(
  "holdfast %s ends with 130 when it is interrupted while it connects",
  async (...words) => {
    const silent = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
    });
    const sockets: Socket[] = [];
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const running = begin([...words, "--zookeeper", `127.0.0.1:${port}`]);
    await eventually(() => sockets.length > 0, { what: "a connection" });
    running.interrupt();
    expect((await running.ended).code).toBe(130);
  },
);

describe("holdfast ls", () => {
  test("lists what is wrong first, then the most waiters, with hosts, ages and locks of Curator, and free locks with --all", async () => {
    const locks = await client("/ls");
    await locks.mutex("alone").acquire();
    await locks.mutex("crowd").acquire();
    waits(locks, "crowd");
    waits(locks, "crowd");
    await queued("/ls/crowd", 3);
    await locks.mutex("wrong").acquire();
    // A node of kazoo stands beside the holder.
    server.operator.create(`/ls/wrong/${"a".repeat(32)}__lock__0000000001`);
    server.operator.create("/ls/java");
    await curator("/ls/java");
    await (await locks.semaphore("was", 2).acquire()).release();
    const { code, out, err } = await run(["ls", ...at("/ls")]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
      "LOCK",
      "/ls/wrong",
      "/ls/crowd",
      "/ls/alone",
      "/ls/java",
    ]);
    expect(lines[1]).toMatch(/critical: mixed kinds/);
    expect(lines[2]).toMatch(new RegExp(`mutex +contended +\\S+:${process.pid} +≤ \\d+ s +2 +\\d+ s +-$`));
    expect(lines[4]).toMatch(/mutex +held +10\.2\.3\.4 +≤ \d+ s +0 +- +-$/);
    const all = await run(["ls", "--all", ...at("/ls")]);
    expect(lineOf(all.out, "/ls/was")).toMatch(/ semaphore +free /);
    const some = await run(["ls", "*/j*", ...at("/ls")]);
    expect(some.out.trimEnd().split("\n")).toHaveLength(2);
    const none = await run(["ls", "nothing-like-it", ...at("/ls")]);
    expect(none.out).toContain("No lock whose name fits nothing-like-it");
  });

  test("fits 60 columns, and prints no character of a hostile name or label that a terminal would obey", async () => {
    const locks = await client("/hostile", false);
    const name = `/hostile/a\u202e${"long/".repeat(20)}鍵鍵\u200b`;
    await locks.mutex(name).acquire();
    const label = "chief\u001b]0;gotcha\u0007\u202e";
    await locks.leaderElection("boss").campaign({ label });
    for (const columns of [60, 200]) {
      const { out } = await run(["ls", ...at("/hostile")], { columns });
      expect(unsafeIn(out)).toEqual([]);
      for (const line of out.split("\n")) expect(cellsOf(line)).toBeLessThanOrEqual(columns);
      if (columns === 200) expect(lineOf(out, "/hostile/a\\u{202e}long/")).toContain("/鍵鍵\\u{200b} ");
    }
    const json = await run(["ls", "--json", ...at("/hostile")]);
    expect(unsafeIn(json.out)).toEqual([]);
    const names = (JSON.parse(json.out) as { locks: { name: string }[] }).locks.map((each) => each.name);
    expect(names.sort()).toEqual(["/hostile/boss", name].sort());
    const boss = await run(["show", "boss", ...at("/hostile")]);
    expect(boss.out).toContain("held by  chief\\u{1b}]0;gotcha\\u{7}\\u{202e}");
    expect(unsafeIn(boss.out)).toEqual([]);
    // A name can be copied as it was printed, and `show` finds it.
    const copied = name.replace("\u202e", "\\u{202e}").replace("\u200b", "\\u{200b}");
    const shown = await run(["show", copied, ...at("/hostile")]);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.out).toContain(`lock     ${copied}\n`);
  });

  test("prints one document with stable fields by --json", async () => {
    const locks = await client("/json");
    const held = await locks.mutex("one").acquire();
    waits(locks, "one");
    await queued("/json/one", 2);
    const { out } = await run(["ls", "--json", ...at("/json")]);
    expect(JSON.parse(out)).toMatchObject({
      backend: "zookeeper",
      complete: true,
      locks: [
        {
          name: "/json/one",
          kind: "mutex",
          state: "contended",
          holderCount: 1,
          holders: [{ pid: process.pid, library: "holdfast", token: `0x${held.token?.toString(16)}` }],
          waiterCount: 1,
          waiterUnit: "participants",
          waitingSince: { provenance: "exact" },
          findings: [],
        },
      ],
    });
  });
});

describe("holdfast show", () => {
  test("prints the holder with token and session, the queue in order, findings with advice, and the nodes", async () => {
    const locks = await client("/show");
    const held = await locks.mutex("orders/42").acquire();
    waits(locks, "orders/42");
    await queued("/show/orders%2F42", 2);
    await curator("/show/orders%2F42");
    server.operator.create("/show/orders%2F42/junk");
    const { code, out } = await run(["show", "orders/42", ...at("/show")]);
    expect(code).toBe(0);
    expect(out).toContain("lock     /show/orders%2F42\nkind     mutex");
    expect(out).toMatch(new RegExp(`held by {2}\\S+ pid ${process.pid}`));
    expect(out).toContain(`token    0x${held.token?.toString(16)}`);
    expect(out).toMatch(/session {2}0x[0-9a-f]+/);
    expect(out).toMatch(
      new RegExp(`2 in the queue, next first\n.*\n1 .* pid ${process.pid}\\b.*\n2 +10\\.2\\.3\\.4 \\(0x`),
    );
    expect(out).toMatch(/foreign child\n {2}.*junk.*\n {2}what to do: /);
    expect(out).toMatch(/at the backend\n {2}\/show\/orders%2F42 {2}czxid=/);
    // The path as `ls` prints it leads to the same lock.
    const again = await run(["show", "/show/orders%2F42", "--json", ...at("/show")]);
    expect(JSON.parse(again.out)).toMatchObject({
      name: "/show/orders%2F42",
      waiters: [
        { position: 0, pid: process.pid },
        { position: 1, address: "10.2.3.4" },
      ],
      findings: [{ kind: "foreign-child" }],
    });
  });

  test("of a name that is no lock ends with 1, names similar ones, and an absolute name outside of the root is looked at all the same", async () => {
    const locks = await client("/similar");
    await locks.mutex("orders").acquire();
    await locks.mutex("/elsewhere/stock").acquire();
    const wrong = await run(["show", "order", ...at("/similar")]);
    expect(wrong).toMatchObject({ code: 1, out: "" });
    expect(wrong.err).toBe("holdfast: there is no lock order; did you mean /similar/orders?\n");
    expect(await run(["show", "/elsewhere/stock", ...at("/similar")])).toMatchObject({ code: 0 });
    expect(await run(["show", ...at("/similar")])).toMatchObject({ code: 2 });
  });
});

describe("holdfast waits", () => {
  test("lists waiters with the holder that blocks them, and a circle of two clients", async () => {
    const [one, two] = [await client("/waits", false), await client("/waits", false)];
    await one.mutex("a").acquire();
    await two.mutex("b").acquire();
    waits(one, "b");
    await queued("/waits/b", 2);
    const before = await run(["waits", ...at("/waits")]);
    expect(before.out).not.toContain("circle");
    expect(lineOf(before.out, "/waits/b")).toMatch(/\(0x[0-9a-f]+\) +\d+ s +\S+ \(0x[0-9a-f]+\)/);
    waits(two, "a");
    await queued("/waits/a", 2);
    const { out } = await run(["waits", ...at("/waits")]);
    expect(out).toContain("A deadlock, possible:");
    expect(out).toMatch(/waits for \/waits\/a, held by /);
    expect(out).toMatch(/waits for \/waits\/b, held by /);
    const json = JSON.parse((await run(["waits", "--json", ...at("/waits")])).out) as {
      cycles: { waits: unknown[] }[];
    };
    expect(json.cycles.map((cycle) => cycle.waits.length)).toEqual([2]);
  });
});

describe("holdfast watch", () => {
  test("prints a wait, a release and the grant that follows as they happen, and ends with 0 at an interrupt", async () => {
    const locks = await client("/watch");
    const held = await locks.mutex("orders").acquire();
    const watching = begin(["watch", "orders", ...at("/watch")]);
    await printed(watching, /^holdfast: watching/);
    const next = locks.mutex("orders").acquire({ waitMs: 120_000 });
    await printed(
      watching,
      new RegExp(`  waits +/watch/orders  .* pid ${process.pid}\\b.*, 1 waiting, held by `),
    );
    await held.release();
    const second = await next;
    await printed(watching, new RegExp(`  released +/watch/orders  by .* pid ${process.pid}`));
    await printed(
      watching,
      new RegExp(
        `  granted +/watch/orders  to .* pid ${process.pid}\\b.*, token 0x${second.token?.toString(16)}$`,
      ),
    );
    await locks.mutex("unwatched").acquire();
    watching.interrupt();
    const { code, out } = await watching.ended;
    expect(code).toBe(0);
    expect(out).not.toContain("unwatched");
  });

  test("says that it sees no more of what may not be read any more, and calls nothing there released", async () => {
    const locks = await client("/closed");
    await locks.mutex("orders").acquire();
    const watching = begin(["watch", ...at("/closed")]);
    await printed(watching, /^holdfast: watching/);
    await permit("/closed", [{ perms: Perms.ALL, scheme: "digest", id: "a:b" }]);
    await printed(watching, /the right to read \(READ\) \/closed is missing/);
    watching.interrupt();
    expect((await watching.ended).out).not.toContain("released");
  });

  test("forgets a hold that it cannot see any more: the next one that has its name is a grant", async () => {
    server.operator.create("/forgotten");
    const hold = (): string => {
      server.operator.create("/forgotten/odd");
      return server.operator.create("/forgotten/odd/lock-", { flags: persistentSequential });
    };
    const first = hold();
    const watching = begin(["watch", ...at("/forgotten")]);
    await printed(watching, /^holdfast: watching/);
    await permit("/forgotten", [{ perms: Perms.ADMIN, scheme: "world", id: "anyone" }]);
    await printed(watching, /the right to read \(READ\) \/forgotten is missing/);
    expect(watching.out()).toBe("");
    // The counter of child numbers begins anew with a new parent.
    server.operator.delete(first);
    server.operator.delete("/forgotten/odd");
    expect(hold()).toBe(first);
    await permit("/forgotten", openAcl);
    await printed(watching, / {2}granted +\/forgotten\/odd {2}to /);
  });

  test("prints one JSON object a line by --json", async () => {
    const locks = await client("/watch-json");
    const watching = begin(["watch", "--json", ...at("/watch-json")]);
    await printed(watching, /^holdfast: watching/);
    const held = await locks.mutex("orders").acquire();
    const line = await printed(watching, /"granted"/);
    watching.interrupt();
    const { out } = await watching.ended;
    expect(JSON.parse(line)).toMatchObject({
      event: "granted",
      lock: "/watch-json/orders",
      token: `0x${held.token?.toString(16)}`,
      who: { pid: process.pid },
    });
    for (const each of out.trimEnd().split("\n")) JSON.parse(each);
  });
});

describe("holdfast release", () => {
  test("does nothing without --force, nor without --yes where there is no terminal", async () => {
    const locks = await client("/refuse");
    const held = await locks.mutex("orders").acquire();
    const unforced = await run(["release", "orders", ...at("/refuse")]);
    expect(unforced).toMatchObject({ code: 2, out: "" });
    expect(unforced.err).toContain("release takes --force");
    const unasked = await run(["release", "--force", "orders", ...at("/refuse")]);
    expect(unasked).toMatchObject({ code: 2 });
    expect(unasked.out).toMatch(new RegExp(`held by .* pid ${process.pid}`));
    expect(unasked.err).toContain("--yes");
    expect(held.state).toBe("held");
  });

  test("frees a lock by --force --yes: its holder is notified, the next waiter is granted, and the command says who holds it now", async () => {
    const locks = await client("/force");
    const held = await locks.mutex("orders").acquire();
    const next = locks.mutex("orders").acquire({ waitMs: 120_000 });
    await queued("/force/orders", 2);
    const { code, out } = await run(["release", "--force", "--yes", "orders", ...at("/force")]);
    expect(code).toBe(0);
    expect(out).toMatch(/is notified: its handle is lost with the reason "stolen"/);
    expect(out).toMatch(new RegExp(`Released\\. Now it is held by \\S+:${process.pid}, 0 waiting\\.\n$`));
    await eventually(() => held.state === "lost", { what: "the holder to be told" });
    const second = await next;
    expect(second.state).toBe("held");
    await second.release();
    const free = await run(["release", "--force", "--yes", "--json", "orders", ...at("/force")]);
    expect(free.code).toBe(0);
    expect(JSON.parse(free.out)).toMatchObject({ outcome: "nothing-there" });
  });

  test("refuses what no known library has made, and a name that is no lock", async () => {
    server.operator.create("/unknown");
    server.operator.create("/unknown/odd");
    server.operator.create("/unknown/odd/lock-0000000000");
    const odd = await run(["release", "--force", "--yes", "odd", ...at("/unknown")]);
    expect(odd).toMatchObject({ code: 1 });
    expect(server.nodes("/unknown/odd")).toHaveLength(2);
    expect(await run(["release", "--force", "--yes", "missing", ...at("/unknown")])).toMatchObject({
      code: 1,
    });
  });
});

describe("holdfast doctor", () => {
  test("says ok of each step on a ZooKeeper that is as it should be, and leaves no lock behind", async () => {
    const { code, out, err } = await run(["doctor", ...at("/doctor")]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(stepsOf(out)).toEqual(
      ["configuration", "name", "port", "connection", "version", "lock", "clock"].map((name) => `ok ${name}`),
    );
    expect(out).toMatch(/version +127\.0\.0\.1:\d+ is ZooKeeper 3\.8\.0, standalone/);
    expect(out).toMatch(/latency +\S+ m?s is the median of 5 reads/);
    expect(out).toMatch(/clock +the server's clock is \S+ m?s (ahead of|behind) this machine's/);
    expect(server.nodes("/doctor/holdfast-doctor").length).toBeLessThanOrEqual(1);
    const json = await run(["doctor", "--json", ...at("/doctor")]);
    expect(JSON.parse(json.out)).toMatchObject({
      ok: true,
      checks: expect.arrayContaining([expect.objectContaining({ name: "lock", status: "ok", advice: null })]),
    });
  });

  test("fails where the rights for a lock are missing, and where a name or a port leads nowhere, with what to do", async () => {
    server.operator.create("/read-only", { acl: [{ perms: Perms.READ, scheme: "world", id: "anyone" }] });
    const denied = await run(["doctor", ...at("/read-only")]);
    expect(denied.code).toBe(1);
    expect(denied.out).toMatch(/failed +lock +.*NoAuth.*\n +what to do: correct the credentials/i);
    const nameless = await run(["doctor", "--zookeeper", "no-such-host.invalid:2181"]);
    expect(nameless.code).toBe(1);
    expect(nameless.out).toMatch(/failed +name +no-such-host\.invalid: .*\n +what to do: correct the name/);
    const closed = await run(["doctor", "--zookeeper", `127.0.0.1:${await freePort()}`]);
    expect(closed.code).toBe(1);
    expect(closed.out).toMatch(/failed +port +127\.0\.0\.1:\d+: the connection was refused\n +what to do: /);
  });

  test("warns of a server without lasting watches", async () => {
    await using old = await startEmbeddedZooKeeper({ compat: "3.5" });
    const { code, out } = await run(["doctor", "--zookeeper", old.connectString]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /warning +version +\S+ is ZooKeeper 3\.5\.\d+, standalone: it has no lasting watches.*\n +what to do: update/,
    );
  });
});

test("a ZooKeeper that is not there is one sentence with its address, and exit code 125, for each command", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  for (const line of [["ls"], ["show", "a"], ["watch"], ["waits"], ["release", "--force", "--yes", "a"]]) {
    const { code, out, err } = await run([...line, "--zookeeper", address]);
    expect({ line, code, out }).toEqual({ line, code: 125, out: "" });
    expect(err).toMatch(new RegExp(`^holdfast: ZooKeeper at ${address} is not reached: [^\n]+\n$`));
  }
});
