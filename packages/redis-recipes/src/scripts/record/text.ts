import { clock } from "../lua/clock.js";
import type { Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";

export interface TextArgs {
  /** What to write, and the text that must be there now; `null` only reads. `seen` is `""` if no text may be there. */
  readonly change: { readonly seen: string; readonly text: string } | null;
  /** Without this limit a late copy, from a connection that was given up long ago, would undo what was written since. */
  readonly notAfterMs: number | null;
}

export type TextAnswer =
  | {
      readonly status: "done";
      readonly serverMs: number;
      /** The text after the call; `""` where there is none. */
      readonly text: string;
    }
  | Late;

const readText = answerReader<TextAnswer>("record-text", {
  done: (reply) => ({ text: reply.text() }),
  late: nothingMore,
});

/**
 * Reads a record, or replaces it. Only `read` is safe to send again: where the text that must be there has come back since, a
 * repeat of `replace` would undo what another client has written.
 *
 * Keys: the record. Arguments: `read` or `replace`, not after (us, 0 for none), and for `replace` the text that must be there and
 * the text to write; no text is empty. Answer: done (the text after the call) / late; server time in each.
 */
export const recordText: CallScript<TextArgs, TextAnswer> = {
  name: "record-text",
  keyCount: 1,
  lua: `${clock}
if tonumber(ARGV[2]) > 0 and nowUs > tonumber(ARGV[2]) then return {'late', nowUs} end
local text = redis.call('GET', KEYS[1]) or ''
if ARGV[1] == 'replace' and text == ARGV[3] and text ~= ARGV[4] then
  text = ARGV[4]
  redis.call('SET', KEYS[1], text)
end
return {'done', nowUs, text}
`,
  args: ({ change, notAfterMs }) => {
    const date = notAfterUs(notAfterMs);
    return change === null ? ["read", date] : ["replace", date, change.seen, change.text];
  },
  parse: readText,
};
