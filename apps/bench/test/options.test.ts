import { describe, expect, it } from "vitest";
import { parseOptions, UsageError } from "../src/cli/options.js";

describe("the command line", () => {
  it("by default runs 200,000 pairs on three nodes, and the memory on one", () => {
    expect(parseOptions(["pairs"])).toMatchObject({
      command: "pairs",
      nodes: 3,
      pairs: 200_000,
      connect: null,
    });
    expect(parseOptions(["memory"])).toMatchObject({
      command: "memory",
      nodes: 1,
      holds: 10_000,
      waiters: 1_000,
    });
    expect(parseOptions(["pairs", "--nodes", "1", "--pairs", "7"])).toMatchObject({ nodes: 1, pairs: 7 });
    expect(parseOptions(["embedded"])).toMatchObject({
      command: "embedded",
      pairs: 100_000,
      inFlight: 256,
      znodes: 100_000,
      sessions: 1_000,
    });
    expect(parseOptions(["redis"])).toMatchObject({ command: "redis", pairs: 20_000, waiters: 200 });
    expect(parseOptions(["heartbeats"])).toMatchObject({ holds: 2_000, waiters: 2_000, phaseMs: 20_000 });
    const database = "postgres://test@127.0.0.1:5432/postgres";
    expect(parseOptions(["fence", "--database", database])).toMatchObject({ database, pairs: 20_000 });
    expect(parseOptions(["fence", "--help"]).command).toBe("help");
    expect(parseOptions(["dashboard", "--streams", "0"])).toMatchObject({
      command: "dashboard",
      locks: 100_000,
      others: 0,
      streams: 0,
      phaseMs: 20_000,
      longHoldMs: null,
      json: false,
    });
    expect(parseOptions(["pairs", "--help"]).command).toBe("help");
  });

  it("by default compares all peers in all workloads on both backends in five rounds", () => {
    const { peers } = parseOptions(["peers"]);
    expect(peers).toMatchObject({ backends: ["zookeeper", "redis"], rounds: 5, quick: false, from: [] });
    expect(peers.names).toEqual(expect.arrayContaining(["Curator", "redlock", "holdfast"]));
    expect(peers.workloads).toEqual(expect.arrayContaining(["pair", "hand-off-10000", "heap"]));
    const args = [
      "--backend",
      "redis",
      "--peers",
      "redlock,holdfast",
      "--workloads",
      "pair",
      "--from",
      "a,b",
    ];
    expect(parseOptions(["peers", "--quick", ...args]).peers).toEqual({
      backends: ["redis"],
      names: ["redlock", "holdfast"],
      workloads: ["pair"],
      rounds: 1,
      quick: true,
      targets: false,
      write: false,
      from: ["a", "b"],
    });
  });

  it("by default measures for targets only what they need", () => {
    const { peers } = parseOptions(["peers", "--targets"]);
    expect(peers.targets).toBe(true);
    expect(peers.names).toEqual(["Curator", "redis-semaphore", "holdfast", "holdfast+keepMs", "shortest"]);
    expect(peers.workloads).toEqual(expect.arrayContaining(["pair", "pair-kept", "queue-200", "idle-5000"]));
    expect(peers.workloads).not.toContain("hand-off-1");
    const one = parseOptions(["peers", "--targets", "--peers", "holdfast", "--workloads", "pair-far"]).peers;
    expect(one).toMatchObject({ names: ["holdfast"], workloads: ["pair-far"] });
  });

  it.each([
    [[], "a command is missing"],
    [["pears"], "no command pears"],
    [["pairs", "memory"], "one command at a time"],
    [["pairs", "--pears", "1"], "--pears"],
    [["pairs", "--pairs", "many"], '--pairs takes a whole number from 1 to 1000000000, not "many"'],
    [["pairs", "--pairs", "0"], "--pairs takes"],
    [["pairs", "--nodes", "1.5"], "--nodes takes"],
    [["embedded", "--connect", "h:1"], "not for it"],
    [["redis", "--nodes", "3"], "not for it"],
    [["dashboard", "--connect", "h:1"], "not for it"],
    [["dashboard", "--streams", "1900.5"], "--streams takes a whole number from 0 to 1900"],
    [["embedded", "--in-flight", "0"], "--in-flight takes"],
    [["fence"], "fence needs --database postgres://user@host:port/database"],
    [["fence", "--database", "redis://h:1"], 'not "redis://h:1"'],
    [["fence", "--database", "postgres://u@h:1/d", "--nodes", "3"], "not for it"],
    [["redis", "--database", "postgres://u@h:1/d"], "--database is for fence alone"],
    [["peers", "--nodes", "3"], "not for it"],
    [["peers", "--quick", "--write"], "leave --write out"],
    [["peers", "--backend", "memory"], "--backend: there is no memory, only zookeeper, redis"],
    [["peers", "--peers", "Curator,curator"], "--peers: there is no curator, only Curator"],
    [["peers", "--workloads", "pear"], "--workloads: there is no pear, only pair"],
    [["peers", "--rounds", "0"], "--rounds takes"],
    [["pairs", "--nodes", "3", "--connect", "h:1"], "one of the two"],
  ])("%j is refused with what to change", (args, message) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(message);
  });
});
