import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ReplyError } from "../../src/client/errors.js";
import { MissingRightError, refusalOf, scriptCommands } from "../../src/client/rights.js";
import { unsuitable } from "../../src/client/suitable.js";

const details = { servers: ["h:1"] };

test("the probe asks for each command that a script calls, and for no other", async () => {
  const folder = fileURLToPath(new URL("../../src/scripts/", import.meta.url));
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".ts"));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const called = new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/redis\.p?call\(\s*'([A-Za-z]+)'/g)].map(([, name = ""]) => name.toLowerCase()),
    ),
  );
  // This test would not see a command whose name is no literal.
  const other = texts.flatMap((text) => text.match(/redis\.p?call\(\s*[^'\s][^,)]*/g) ?? []);
  expect(other).toEqual(["redis.pcall(command"]); // PUBLISH or SPUBLISH
  // The rights to these are checked elsewhere: INFO on each connection, and the commands that are only for messages.
  for (const name of ["info", "publish", "spublish", "pubsub"]) called.delete(name);
  // For a user without the right to HRANDFIELD, the script lists all readers instead.
  called.delete("hrandfield");
  expect([...scriptCommands].sort()).toEqual([...called].sort());
});

const channels = ["&holdfast_*", "&redisson_*"];

test.each([
  ["NOPERM this user has no permissions to run the 'cluster|slots' command", null, ["+cluster|slots"]],
  [
    "NOPERM this user has no permissions to access one of the keys used as arguments",
    ["evalsha", "0", 2, "a", "b:{a}", "x"],
    ["~a", "~b:{a}"],
  ],
  [
    "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: 1, on @user_script:2.",
    ["eval", "", 1, "a"],
    ["~{a}:*"],
  ],
  [
    "ERR The user executing the script can't run this command or subcommand script: 1, on @user_script:2.",
    ["eval", "", 1, "a"],
    ["+@read", "+@write"],
  ],
  [
    "ERR The user executing the script can't publish to the channel mentioned in the command",
    ["eval", "", 1, "a"],
    ["&holdfast_*", "&redisson_*"],
  ],
  ["NOPERM this user has no permissions to access one of the channels used as arguments", null, channels],
  ["NOPERM User app has no permissions to run the 'cluster|slots' command", null, ["+cluster|slots"]],
  ["NOPERM No permissions to access a key", ["evalsha", "0", 2, "a", "b:{a}", "x"], ["~a", "~b:{a}"]],
  ["NOPERM No permissions to access a channel", null, channels],
  [
    "ERR ACL failure in script: User app has no permissions to run the 'pexpire' command script: 1, on @user_script:2.",
    ["eval", "", 1, "a"],
    ["+pexpire"],
  ],
  [
    "ERR ACL failure in script: No permissions to access a key script: 1, on @user_script:2.",
    ["eval", "", 1, "a"],
    ["~{a}:*"],
  ],
  ["ERR ACL failure in script: No permissions to access a channel", ["eval", "", 1, "a"], channels],
] as const)("reads the right out of %s", (reply, command, rights) => {
  const error = refusalOf(reply, details, command as never);
  expect(error).toBeInstanceOf(MissingRightError);
  expect(error).toMatchObject({ rights, kind: "denied", retryable: false, reply });
});

test("takes no other refusal for a missing right", () => {
  for (const reply of ["WRONGPASS invalid username-password pair", "ERR something", "READONLY no"]) {
    const error = refusalOf(reply, details, ["get", "x"]);
    expect(error).toBeInstanceOf(ReplyError);
    expect(error).not.toBeInstanceOf(MissingRightError);
  }
});

test.each([
  ["6.2.15", true],
  ["5.0.0", true],
  ["7.0.0", false],
  ["8.4.1", false],
  ["10.0.0", false],
  ["unknown", false],
])("version %s is too old: %s", (version, old) => {
  const info = {
    runId: "a",
    role: "master",
    clustered: false,
    connectedReplicas: 0,
    loading: false,
    version,
    evictionPolicy: null,
    serverMs: null,
  } as const;
  expect(unsuitable(info, { rights: undefined, state: undefined }, details) !== null).toBe(old);
});
