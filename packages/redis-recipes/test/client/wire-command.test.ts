import { Command } from "ioredis";
import { expect, test } from "vitest";
import { scriptCommand, wireCommand } from "../../src/client/script-command.js";
import type { Script, ScriptArgs } from "../../src/scripts/script.js";

const script: Script<unknown> = {
  name: "some",
  lua: "return 1",
  keyCount: 2,
  runIdAt: 2,
  parse: (raw) => raw,
};
const connection = (vouchedRunId: string) => ({ scripts: new Set<string>(), vouchedRunId });

/** The bytes that ioredis writes for these arguments. */
function written(command: readonly (string | number)[]): unknown {
  const [name = "", ...args] = command;
  return new Command(String(name), args.map(String)).toWritable({});
}

test.each<[string, readonly string[], ScriptArgs]>([
  ["plain text and numbers", ["a", "b"], ["x", 1, ""]],
  ["texts that are longer as bytes", ["ключ", "鍵"], ["é", -1, "", "😀"]],
  ["arguments that are constant", Object.freeze(["a", "b"]), ["x", Object.freeze([7, "", "ü"])]],
])(
  "a script with %s is written as ioredis would, also the second time and by another connection",
  (_what, keys, args) => {
    for (const runId of ["one", "one", "other", ""]) {
      const to = connection(runId);
      expect(wireCommand(to, { script, keys, args, asking: false })).toBeNull();
      const [, digest] = digestOf(to, keys, args);
      to.scripts.add(digest);
      const command = scriptCommand(to, { script, keys, args, asking: false });
      expect(command.slice(0, 2)).toEqual(["evalsha", digest]);
      expect(command[3 + keys.length + 2]).toBe(runId);
      expect(wireCommand(to, { script, keys, args, asking: false })?.toWritable({})).toBe(written(command));
    }
  },
);

/** The EVALSHA form of the command: its name, and the digest that the connection has to know. */
function digestOf(
  to: ReturnType<typeof connection>,
  keys: readonly string[],
  args: ScriptArgs,
): [string, string] {
  const all = { ...to, scripts: { has: () => true } as unknown as Set<string> };
  const [name, digest] = scriptCommand(all, { script, keys, args, asking: false });
  return [name, String(digest)];
}
