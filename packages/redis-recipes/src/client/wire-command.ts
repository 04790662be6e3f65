import { Command } from "ioredis";
import { SameWords, type Script, type ScriptArgs } from "../scripts/script.js";

/**
 * An ioredis command that is given as its bytes. ioredis would encode all arguments again for each call, although most arguments
 * of a script run are the same each time.
 */
class WireCommand extends Command {
  readonly #wire: string;

  constructor(name: string, wire: string) {
    super(name, [], { replyEncoding: "utf8" });
    this.#wire = wire;
  }

  override toWritable(): string {
    return this.#wire;
  }
}

function bulk(arg: string | number): string {
  const text = String(arg);
  return `$${typeof arg === "number" ? text.length : Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function bulks(args: readonly (string | number)[], runId: string, runIdAt: number): string {
  const memo = args instanceof SameWords ? args : undefined;
  if (memo?.encoded?.runId === runId) return memo.encoded.wire;
  const bulkOf = (arg: string | number, place: number) => bulk(place === runIdAt ? runId : arg);
  // Join the parts into one flat text, because it is kept: a text that grows by `+=` is stored as a tree of its parts.
  const wire = Array.from(args, bulkOf).join("");
  if (memo !== undefined) memo.encoded = { runId, wire };
  return wire;
}

/** The command for a run of a script that the server has. `runId`: the run id that the connection vouches for. */
export function evalshaCommand(
  script: Script<unknown>,
  digest: string,
  keys: readonly string[],
  args: ScriptArgs,
  runId: string,
): Command {
  const { runIdAt = -1 } = script;
  let wire = "";
  let count = 0;
  for (const arg of args) {
    if (typeof arg === "object") {
      wire += bulks(arg, runIdAt < 0 ? "" : runId, runIdAt - count);
      count += arg.length;
    } else {
      wire += bulk(count === runIdAt ? runId : arg);
      count++;
    }
  }
  const head = `*${3 + keys.length + count}\r\n$7\r\nevalsha\r\n$40\r\n${digest}\r\n${bulk(keys.length)}`;
  return new WireCommand("evalsha", head + bulks(keys, "", -1) + wire);
}
