import { describe, expect, it } from "vitest";
import { help, parseCommand } from "../src/cli/arguments.js";
import { checkConfig } from "../src/config/check.js";
import type { DashboardConfig } from "../src/index.js";

describe("the command line", () => {
  it("knows what it is to do", () => {
    expect(parseCommand(["--config", "a.yaml"])).toEqual({ do: "serve", config: "a.yaml" });
    expect(parseCommand(["--config", "a.yaml", "--check"])).toEqual({ do: "check", config: "a.yaml" });
    expect(parseCommand(["hash-password"])).toEqual({ do: "hash-password" });
    expect(parseCommand(["--help"])).toEqual({ do: "help" });
  });

  it.each([
    [[], "--config names the file"],
    [["serve"], "no command serve"],
    [["--confg", "a"], "--confg"],
    [["--config"], "--config"],
    [["--config", "a", "--redis", "redis://h"], "--redis goes without --config"],
    [["--config", "a", "--actions"], "--actions goes without --config"],
    [["--port", "1"], "--zookeeper or --redis what to show"],
    [["--zookeeper", "h:2181", "--pattern", "a:*"], "--pattern is of --redis"],
    [["--redis", "redis://h", "--root", "/a"], "--root is of --zookeeper"],
    [["--zookeeper", "h:2181", "--redis-password-env", "P"], "--redis-password-env is of --redis"],
    [["--redis", "redis://h", "--port", "many"], "--port takes a number"],
  ])("%j is refused in words", (args, message) => {
    expect(() => parseCommand(args)).toThrow(message);
  });

  it("shows without a file what the flags name: on loopback, and no lock can be changed unless a flag allows it", () => {
    const all = { roots: ["/"] };
    expect(parseCommand(["--zookeeper", "a:2181,b:2181/app", "--redis", "redis://h"])).toEqual({
      do: "serve",
      quick: {
        listen: { host: "127.0.0.1" },
        actions: false,
        clusters: [
          { name: "zookeeper", zookeeper: { connect: "a:2181,b:2181/app", ...all } },
          { name: "redis", redis: { url: "redis://h", patterns: ["*"] } },
        ],
      },
    });
    const more = ["--redis", "redis://a", "--redis", "rediss://b", "--pattern", "x:*", "--pattern", "y"];
    expect(
      parseCommand([...more, "--port", "0", "--actions", "--check", "--redis-password-env", "P"]),
    ).toEqual({
      do: "check",
      quick: {
        listen: { host: "127.0.0.1", port: 0 },
        actions: true,
        clusters: ["redis://a", "rediss://b"].map((url, at) => ({
          name: ["redis", "redis-2"][at],
          redis: { url, password: { env: "P" }, patterns: ["x:*", "y"] },
        })),
      },
    });
    expect(parseCommand(["--zookeeper", "h:2181", "--root", "/locks", "--root", "/curator/*"])).toMatchObject(
      {
        quick: { clusters: [{ zookeeper: { roots: ["/locks", "/curator/*"] } }] },
      },
    );
  });

  it("takes no password that every user of the machine could read, and does not repeat it", () => {
    const typed = (): unknown => parseCommand(["--redis", "redis://u:hunter2@h"]);
    expect(typed).toThrow("--redis-password-env");
    expect(typed).not.toThrow("hunter2");
  });

  it("what it makes of the options is a right configuration, or is refused as one", () => {
    const quick = (...args: string[]): DashboardConfig => {
      const command = parseCommand(args);
      if (!("quick" in command)) throw new Error("a file was named");
      return checkConfig(command.quick);
    };
    expect(quick("--zookeeper", "h:2181", "--redis", "redis://h").clusters).toHaveLength(2);
    expect(() => quick("--redis", "http://h")).toThrow("clusters.0.redis.url");
    expect(() => quick("--zookeeper", "h:2181", "--actions")).toThrow(/roots: \/ .*--actions.*--root/);
    expect(quick("--zookeeper", "h:2181", "--actions", "--root", "/locks").actions).toBe(true);
    expect(() => quick("--zookeeper", "h:2181", "--port", "70000")).toThrow("listen.port");
    expect(() => quick("--zookeeper", "h:2181", "--root", "locks")).toThrow("roots");
  });

  it("its help names each option", () => {
    for (const option of ["--config", "--check", "--help", "hash-password"]) expect(help).toContain(option);
    for (const option of ["zookeeper", "root", "redis", "redis-password-env", "pattern", "port", "actions"])
      expect(help).toContain(`--${option}`);
  });
});
