import type { RecordStore } from "@holdfast/core/internal";
import { recordKeys } from "../../layout/keys.js";
import { recordText, type TextArgs } from "../../scripts/record/text.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/** A text under `holdfast_record:{name}`, without a TTL. `name`: with the provider's prefix. */
export function redisRecord(runs: RetryingRequests, name: string): RecordStore {
  const keys = [recordKeys(name).text];
  const call = (change: TextArgs["change"]) =>
    runs.run(recordText, { keys, args: () => recordText.args({ change }), repeatable: true, patient: false });
  return {
    read: async () => (await call(null)).text || null,
    replace: async (seen, text) => (await call({ seen: seen ?? "", text })).replaced,
  };
}
