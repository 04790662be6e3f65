import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PeerCertificate } from "node:tls";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { attackNames, attackScenario, attacks, faultsOf } from "../../src/attack/attacks.js";
import { openForeignRedis } from "../../src/attack/foreign-redis.js";
import { openForeignZooKeeper } from "../../src/attack/foreign-zookeeper.js";
import { parseTarget } from "../../src/attack/target.js";
import { main } from "../../src/cli/main.js";
import { Random } from "../../src/engine/random.js";
import { tlsOptions } from "../../src/workload/attacked.js";

async function ran(...argv: string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const code = await main(["attack", ...argv], (line) => lines.push(line));
  return { code, text: lines.join("\n") };
}

describe("an attack without consent", () => {
  it("says what it would do, and does not even connect", async () => {
    let connections = 0;
    const server = createServer(() => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const target = `zk://127.0.0.1:${port}/mine`;
    const { code, text } = await ran("--target", target, "--fault", "session-kill", "--times", "7");
    await new Promise((resolve) => server.close(resolve));
    expect(code).toBe(254);
    expect(text).toContain(`target   ${target}`);
    expect(text).toMatch(/the node \/mine\/holdfast-chaos-attack-[0-9a-f]{12}, which is deleted/);
    expect(text).toContain("session-kill, 7 times");
    expect(text).toContain("nothing was done");
    expect(connections).toBe(0);
  });
});

it("says in its help that it goes through the names of all keys at the end", async () => {
  const { text } = await ran("--help");
  expect(text).toMatch(/SCAN over the names of\s+all keys of the database, 500 at a time/);
});

it.each(["zk", "redis"])(
  "an attack that is interrupted gives up at a %s that does not answer",
  async (scheme) => {
    const interrupt = new AbortController();
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      sockets.push(socket);
      interrupt.abort(new Error("interrupted"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const target = parseTarget(`${scheme}://127.0.0.1:${port}/0`);
    const opening =
      target.backend === "zookeeper"
        ? openForeignZooKeeper(target, "mine", interrupt.signal)
        : openForeignRedis(target, "mine", interrupt.signal);
    await expect(opening).rejects.toThrow("interrupted");
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  },
);

describe("arguments of attack", () => {
  const consent = "--i-own-this";

  it.each([
    ["no target", ["--fault", "reset", consent], /--target and --fault are needed/],
    ["no fault", ["--target", "redis://h", consent], /--target and --fault are needed/],
    [
      "a fault of servers",
      ["--target", "zk://h", "--fault", "zk.kill", consent],
      /--fault is session-kill or/,
    ],
    [
      "sessions of a Redis",
      ["--target", "redis://h", "--fault", "session-kill", consent],
      /a Redis has no sessions/,
    ],
    ["another scheme", ["--target", "http://h", "--fault", "reset", consent], /it is like zk:/],
    [
      "a session under TLS",
      ["--target", "zks://h", "--fault", "session-kill", consent],
      /which TLS hides: it needs zk:/,
    ],
    [
      "a user alone",
      ["--target", "redis://secret@h", "--fault", "reset", consent],
      /a user needs a password/,
    ],
    ["a password alone", ["--target", "zk://:secret@h", "--fault", "reset", consent], /wants a user/],
    ["a password that is no URL's", ["--target", "redis://:%@h", "--fault", "reset", consent], /as in a URL/],
    ["a database that is none", ["--target", "redis://h/a", "--fault", "reset", consent], /number of the/],
    ["a database of a cluster", ["--target", "redis+cluster://h/1", "--fault", "reset", consent], /0 alone/],
    [
      "no master",
      ["--target", "redis+sentinel://h", "--fault", "reset", consent],
      /sentinels call the master/,
    ],
    [
      "sentinels of a ZooKeeper",
      ["--target", "zk+sentinel://h", "--fault", "reset", consent],
      /it is like zk:/,
    ],
    ["a path that is none", ["--target", "zk://h/a//b", "--fault", "reset", consent], /empty name/],
    ["a path upwards", ["--target", "zk://h/a/..", "--fault", "reset", consent], /is not a ZooKeeper path/],
    ["a port that is none", ["--target", "zk://h:99999", "--fault", "reset", consent], /from 1 to 65535/],
    [
      "a certificate without TLS",
      ["--target", "redis://:secret@h", "--fault", "reset", "--server-name", "s", consent],
      /go with TLS/,
    ],
    [
      "a login at no sentinels",
      ["--target", "redis://h", "--fault", "reset", "--sentinel-access", "a:secret", consent],
      /is for redis\+sentinel/,
    ],
    [
      "half a certificate",
      ["--target", "rediss://h", "--fault", "reset", "--cert", "c", consent],
      /go together/,
    ],
    [
      "a file that is not there",
      ["--target", "rediss://h", "--fault", "reset", "--ca", "/nowhere", consent],
      /--ca \/nowhere cannot be read: ENOENT/,
    ],
    [
      "a file that is no certificate",
      ["--target", "rediss://h", "--fault", "reset", "--ca", fileURLToPath(import.meta.url), consent],
      /--ca .*no start line/,
    ],
    ["one worker", ["--target", "zk://h", "--fault", "reset", "--workers", "1", consent], /from 2 to 32/],
    ["no times", ["--target", "zk://h", "--fault", "reset", "--times", "0", consent], /from 1 to 100/],
    ["an unknown option", ["--force"], /Unknown option/],
  ])("with %s are refused before anything is done", async (_, args, why) => {
    const { code, text } = await ran(...args);
    expect(code).toBe(254);
    expect(text).toMatch(why);
    expect(text).not.toContain("secret");
  });

  it("name servers of a ZooKeeper, a path below which it works, and a user", () => {
    const about = { kind: "attacked", backend: "zookeeper" };
    expect(parseTarget("zk://a:1,b/x/y/")).toEqual({
      ...about,
      tls: null,
      options: { connect: "a:1,b/x/y" },
    });
    expect(parseTarget("zks://me:s%40cret@a,b/")).toEqual({
      ...about,
      tls: { names: ["a", "b"] },
      options: { connect: "a,b", auth: [{ scheme: "digest", auth: "me:s@cret" }] },
    });
  });

  it("name a Redis, sentinels with a master, or nodes of a cluster, a user, and what certificates are for", () => {
    const about = { kind: "attacked", backend: "redis", tls: null };
    expect(parseTarget("redis://me:s%40cret@a:1/2")).toEqual({
      ...about,
      options: { url: "redis://a:1/2", username: "me", password: "s@cret" },
    });
    const one = { host: "a", port: 1 };
    expect(parseTarget("redis+sentinel://:p@a:1,[::1]/m", { sentinels: "s:q" })).toEqual({
      ...about,
      options: {
        sentinels: {
          sentinels: [one, { host: "::1", port: 26_379 }],
          name: "m",
          username: "s",
          password: "q",
        },
        password: "p",
      },
    });
    expect(parseTarget("rediss+cluster://a:1,b", { tls: { ca: "C", serverName: "s" } })).toEqual({
      ...about,
      tls: { ca: "C", names: ["s"] },
      options: { cluster: { nodes: [one, { host: "b", port: 6379 }] } },
    });
  });

  it("have a password that is never shown", async () => {
    const { text } = await ran("--target", "redis+sentinel://me:secret@a:1/m", "--fault", "reset");
    expect(text).toContain("target   redis+sentinel://me:***@a:1/m");
    expect(text).not.toContain("secret");
  });

  it.concurrent.for([
    ["zk://me:secret@HOST/mine", "ZooKeeper"],
    ["redis://:secret@HOST", "Redis"],
    ["rediss+sentinel://:secret@HOST/m", "Redis"],
    ["redis+cluster://:secret@HOST", "Redis"],
  ] as const)(
    "that name a target which does not answer, as %s, are a sentence, and no crash",
    async ([url, what], { onTestFinished, expect }) => {
      const out = mkdtempSync(join(tmpdir(), "attack-"));
      onTestFinished(() => rmSync(out, { recursive: true }));
      const target = url.replace("HOST", "127.0.0.1:1"); // no server listens at port 1
      const { code, text } = await ran("--target", target, "--fault", "reset", consent, "--out", out);
      expect(code, text).toBe(254);
      expect(text).toMatch(
        /--target .*\*\*\*@.*: it cannot be used: no connection to .*: connect ECONNREFUSED/,
      );
      expect(text).toContain(`connection to ${what}`);
      expect(text).not.toContain("secret");
      expect(text).not.toMatch(/\n +at /);
    },
  );
});

describe("a certificate behind a proxy", () => {
  const certificate = { subject: { CN: "x" }, subjectaltname: "DNS:b.example" } as PeerCertificate;
  const check = (...names: string[]) =>
    tlsOptions({ names }).checkServerIdentity?.("127.0.0.1", certificate)?.message;

  it("is good when it is for one of the servers that were named, and for none else", () => {
    expect(check("a.example", "b.example")).toBeUndefined();
    expect(check("a.example")).toContain("does not match");
    expect(check("127.0.0.1")).toContain("does not match");
  });

  it("is asked for by the name of the only server, which an address is not", () => {
    expect(tlsOptions({ names: ["b.example"] }).servername).toBe("b.example");
    expect(tlsOptions({ names: ["127.0.0.1"] })).not.toHaveProperty("servername");
    expect(tlsOptions({ names: ["a.example", "b.example"] })).not.toHaveProperty("servername");
  });
});

describe.each(attackNames)("the attack %s", (name) => {
  it("is named by help", async () => {
    const { code, text } = await ran("--help");
    expect(code).toBe(0);
    expect(text).toContain(attacks[name].what);
  });

  it("knows one fault, which hits its own workers, their links or their sessions", () => {
    const known = Object.keys(faultsOf(name));
    expect(known).toEqual([attacks[name].name]);
    expect(known[0]).toMatch(/^(worker\.(kill|pause)|link\.(reset|hole)|zk\.session-kill)$/);
    const scenario = attackScenario("a", parseTarget("zk://h/p"), name, 4, 3);
    const plan = scenario.plan(new Random(1, "nemesis"), scenario.runMs);
    expect(plan).toHaveLength(4);
    expect(plan.map(({ fault, target }) => `${fault} ${target}`)).toEqual(
      Array.from({ length: 4 }, () => `${known[0]} holder(k1)`),
    );
  });
});
