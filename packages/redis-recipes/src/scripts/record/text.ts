import { clock } from "../lua/clock.js";
import { type CallScript, Reply } from "../script.js";

export interface TextArgs {
  /** What to write, and the text that must be there now; `null` only reads. `seen` is `""` if no text may be there. */
  readonly change: { readonly seen: string; readonly text: string } | null;
}

export interface TextAnswer {
  readonly serverMs: number;
  readonly replaced: boolean;
  /** The text after the call; `""` where there is none. */
  readonly text: string;
}

/**
 * Reads a record, or replaces it. Safe to send again: a text that is there already counts as written.
 *
 * Keys: the record. Arguments: `read` or `replace`, the text that must be there, the text to write; no text is empty. Answer:
 * server time, whether the record is as wanted, the text.
 */
export const recordText: CallScript<TextArgs, TextAnswer> = {
  name: "record-text",
  keyCount: 1,
  lua: `${clock}
local text = redis.call('GET', KEYS[1]) or ''
local wanted = 0
if ARGV[1] == 'replace' then
  if text == ARGV[3] then
    wanted = 1
  elseif text == ARGV[2] then
    wanted, text = 1, ARGV[3]
    redis.call('SET', KEYS[1], text)
  end
end
return {nowUs, wanted, text}
`,
  args: ({ change }) => (change === null ? ["read"] : ["replace", change.seen, change.text]),
  parse: (raw) => {
    const reply = new Reply("record-text", raw);
    return reply.end({ serverMs: reply.serverMs(), replaced: reply.flag(), text: reply.text() });
  },
};
