import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { attackNames, attackScenario, attacks, faultsOf } from "../../src/attack/attacks.js";
import { parseTarget } from "../../src/attack/target.js";
import { main } from "../../src/cli/main.js";
import { Random } from "../../src/engine/random.js";

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
      "a password of a ZooKeeper",
      ["--target", "zk://u:secret@h", "--fault", "reset", consent],
      /u:\*\*\*@h.*are not known here/,
    ],
    ["a user alone", ["--target", "redis://user@h", "--fault", "reset", consent], /a user needs a password/],
    ["a password that is no URL's", ["--target", "redis://:%@h", "--fault", "reset", consent], /as in a URL/],
    ["a path of a Redis", ["--target", "redis://h/1", "--fault", "reset", consent], /a Redis has no path/],
    ["a path that is none", ["--target", "zk://h/a//b", "--fault", "reset", consent], /is no path/],
    ["a path upwards", ["--target", "zk://h/a/..", "--fault", "reset", consent], /is no path/],
    ["a port that is none", ["--target", "zk://h:99999", "--fault", "reset", consent], /is no host and port/],
    ["one worker", ["--target", "zk://h", "--fault", "reset", "--workers", "1", consent], /from 2 to 32/],
    ["no times", ["--target", "zk://h", "--fault", "reset", "--times", "0", consent], /from 1 to 100/],
    ["what nobody knows", ["--force"], /Unknown option/],
  ])("with %s are refused before anything is done", async (_, args, why) => {
    const { code, text } = await ran(...args);
    expect(code).toBe(254);
    expect(text).toMatch(why);
    expect(text).not.toContain("secret");
  });

  it("name servers and a path, with the ports that clients take where there are none", () => {
    expect(parseTarget("zk://a:1,b/x/y/")).toEqual({
      kind: "zookeeper",
      servers: [
        { host: "a", port: 1 },
        { host: "b", port: 2181 },
      ],
      path: "/x/y",
    });
    expect(parseTarget("zk://a")).toMatchObject({ path: "" });
    expect(parseTarget("redis://a/")).toEqual({ kind: "redis", address: { host: "a", port: 6379 } });
  });

  it("name a user and a password of a Redis, which are never shown", async () => {
    const address = { host: "a", port: 1 };
    expect(parseTarget("redis://me:s%40cret@a:1")).toEqual({
      kind: "redis",
      address,
      access: { username: "me", password: "s@cret" },
    });
    expect(parseTarget("redis://:secret@a:1")).toEqual({
      kind: "redis",
      address,
      access: { password: "secret" },
    });
    const { text } = await ran("--target", "redis://me:secret@a:1", "--fault", "reset");
    expect(text).toContain("target   redis://me:***@a:1");
    expect(text).not.toContain("secret");
  });

  it("that name a target which does not answer are a sentence, and no crash", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const out = mkdtempSync(join(tmpdir(), "attack-"));
    onTestFinished(() => rmSync(out, { recursive: true }));
    const { code, text } = await ran(
      "--target",
      `redis://:secret@127.0.0.1:${port}`,
      "--fault",
      "reset",
      consent,
      "--out",
      out,
    );
    expect(code, text).toBe(254);
    expect(text).toMatch(
      /--target redis:\/\/:\*\*\*@127\.0\.0\.1:\d+: it cannot be used: .*refused|ECONNREFUSED/i,
    );
    expect(text).not.toContain("secret");
    expect(text).not.toMatch(/\n +at /);
  });
});

describe.each(attackNames)("the attack %s", (name) => {
  it("is told by help", async () => {
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
