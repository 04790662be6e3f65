import type { RecordStore } from "@holdfast/core/internal";
import { recordKeys } from "../../layout/keys.js";
import { recordText, type TextAnswer, type TextArgs } from "../../scripts/record/text.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

type Text = Extract<TextAnswer, { readonly status: "done" }>;

/**
 * A text under `holdfast_record:{name}`, without a TTL. `name`: with the provider's prefix.
 *
 * A request whose answer was lost is not sent again: if its text was there and another client has written the text before it anew,
 * the repeat would undo that. A look shows that it was done if it finds its text. Any other text may have been there before it, or
 * may have replaced it since.
 */
export function redisRecord(runs: RetryingRequests, name: string): RecordStore {
  const keys = [recordKeys(name).text] as const;
  const argsOf = (change: TextArgs["change"]) => () =>
    recordText.args({ change, notAfterMs: runs.requests.notAfterMs(keys[0]) });
  const read = argsOf(null);
  return {
    read: async () =>
      (await runs.run(recordText, { keys, args: read, repeatable: true, patient: false })).text || null,
    replace: async (before, text) => {
      const seen = before ?? "";
      const look = { args: read, isDone: (found: Text) => found.text === text };
      const call = { keys, args: argsOf({ seen, text }), repeatable: false, look, patient: false };
      return (await runs.run(recordText, call)).text === text;
    },
  };
}
