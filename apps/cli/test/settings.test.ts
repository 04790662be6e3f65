import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readSettings, type Settings } from "../src/settings.js";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-settings-"));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const read = (values: Record<string, unknown>, env: Record<string, string> = {}): Settings =>
  readSettings(values, { env: { HOME: directory, ...env }, directory });
const file = (content: unknown, path = "holdfast.json"): void =>
  writeFileSync(join(directory, path), typeof content === "string" ? content : JSON.stringify(content));

it("an option counts before its variable, and a variable before the file", () => {
  file({ zookeeper: "file:2181", root: "/file" });
  const connect = (settings: Settings): string => settings.servers;
  expect(connect(read({}))).toBe("file:2181");
  expect(connect(read({}, { HOLDFAST_ZOOKEEPER: "variable:2181" }))).toBe("variable:2181");
  expect(connect(read({ zookeeper: "option:2181" }, { HOLDFAST_ZOOKEEPER: "variable:2181" }))).toBe(
    "option:2181",
  );
  expect(read({ zookeeper: "option:2181", namespace: "n" })).toEqual({
    backend: "zookeeper",
    servers: "option:2181",
    zookeeper: { connect: "option:2181", root: "/file", namespace: "n" },
  });
});

it("the first place that names a server decides between ZooKeeper and Redis", () => {
  file({ zookeeper: "file:2181", root: "/file" });
  expect(read({ redis: ["redis://r1"] })).toEqual({
    backend: "redis",
    servers: "r1:6379",
    redis: { url: "redis://r1" },
  });
});

it("finds the file of the user when the working directory has none, and refuses one that was named and is not there", () => {
  mkdirSync(join(directory, "xdg/holdfast"), { recursive: true });
  file({ redis: "redis://r1" }, "xdg/holdfast/config.json");
  expect(read({}, { XDG_CONFIG_HOME: join(directory, "xdg") }).servers).toBe("r1:6379");
  expect(() => read({ config: join(directory, "none.json") })).toThrow("--config");
  expect(() => read({}, { HOLDFAST_CONFIG: join(directory, "none.json") })).toThrow("HOLDFAST_CONFIG");
});

it("several URLs are the nodes of a cluster, or the sentinels of a master that is named", () => {
  expect(read({ redis: ["rediss://r1:7000", "rediss://[::1]"] })).toEqual({
    backend: "redis",
    servers: "r1:7000,[::1]:6379",
    redis: {
      cluster: {
        nodes: [
          { host: "r1", port: 7000 },
          { host: "::1", port: 6379 },
        ],
      },
      tls: {},
    },
  });
  const env = {
    HOLDFAST_REDIS: "redis://u:p%40@s1/2, redis://u:p%40@s2/2",
    HOLDFAST_SENTINEL_MASTER: "locks",
  };
  expect(read({}, env)).toEqual({
    backend: "redis",
    servers: "s1:26379,s2:26379",
    redis: {
      sentinels: {
        sentinels: [
          { host: "s1", port: 26_379 },
          { host: "s2", port: 26_379 },
        ],
        name: "locks",
      },
      username: "u",
      password: "p@",
      db: 2,
    },
  });
});

it("a password is taken from a variable and refused on the command line, and no message shows it", () => {
  const url = "redis://u:secret@r1";
  expect(read({}, { HOLDFAST_REDIS: url })).toMatchObject({ redis: { url } });
  expect(() => read({ redis: [url] })).toThrow(/^--redis has a password in it(?!.*secret)/);
  expect(() => read({}, { HOLDFAST_REDIS: "rdis:secret" })).toThrow(/^(?!.*secret).*HOLDFAST_REDIS/);
});

it("says of a file that is not JSON at most in which line, and quotes nothing of it", () => {
  file('{"redis":secret}');
  expect(() => read({})).toThrow(/^(?!.*secret).*holdfast\.json is not JSON/s);
  file('{\n  "redis": "redis://u:secret@r1",\n}');
  expect(() => read({})).toThrow(/^(?!.*secret).*holdfast\.json is not JSON \(line 3\)$/s);
});

it("credentials of ZooKeeper come from a variable", () => {
  const env = { HOLDFAST_ZOOKEEPER: "z1:2181", HOLDFAST_ZOOKEEPER_AUTH: "digest:user:pass" };
  expect(read({}, env)).toMatchObject({ zookeeper: { auth: [{ scheme: "digest", auth: "user:pass" }] } });
  expect(() => read({}, { ...env, HOLDFAST_ZOOKEEPER_AUTH: "user" })).toThrow("HOLDFAST_ZOOKEEPER_AUTH");
});

it.each<[string, Record<string, unknown>, Record<string, string>, RegExp]>([
  ["no server", {}, {}, /--zookeeper or --redis/],
  ["both backends", { zookeeper: "z1", redis: ["redis://r1"] }, {}, /--zookeeper and --redis/],
  ["both variables", {}, { HOLDFAST_ZOOKEEPER: "z1", HOLDFAST_REDIS: "redis://r1" }, /HOLDFAST_REDIS/],
  ["an option of the other backend", { redis: ["redis://r1"], root: "/x" }, {}, /--root is of zookeeper/],
  ["another scheme", { redis: ["http://r1"] }, {}, /--redis must be like redis:/],
  ["URLs that differ", { redis: ["redis://r1", "rediss://r2"] }, {}, /--redis: several URLs must agree/],
  ["a database of a cluster", { redis: ["redis://r1/1", "redis://r2/1"] }, {}, /database 0/],
])("refuses %s and names what to change", (_, values, env, message) => {
  expect(() => read(values, env)).toThrow(message);
});

it("refuses a file that is no JSON object, has an unknown field, or a value that is no text", () => {
  for (const [content, message] of [
    ["{", /is not JSON/],
    [[], /must be a JSON object/],
    [{ redsi: "redis://r1" }, /there is no field "redsi"/],
    [{ zookeeper: 1 }, /zookeeper must be a text/],
    [{ redis: [] }, /redis must be a text or a list/],
  ] as const) {
    file(content);
    expect(() => read({})).toThrow(message);
  }
});
