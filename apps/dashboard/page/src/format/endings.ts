import type { PastHoldRow } from "../../../src/contract/history.js";

/** How an end is shown: as a picture, a word and a colour. */
export interface EndLook {
  readonly icon: "held" | "idle" | "warning" | "critical" | "info";
  readonly tone: string;
  readonly text: string;
}

const looks: Readonly<Record<NonNullable<PastHoldRow["reason"]>, EndLook>> = {
  released: { icon: "idle", tone: "quiet", text: "released" },
  expired: { icon: "warning", tone: "warn", text: "lease expired" },
  "session-ended": { icon: "warning", tone: "warn", text: "session ended" },
  forced: { icon: "critical", tone: "bad", text: "forced release" },
  unknown: { icon: "info", tone: "info", text: "ended, cause unknown" },
};

/** `null` means that the hold goes on. */
export function endWords(reason: PastHoldRow["reason"]): EndLook {
  return reason === null ? { icon: "held", tone: "good", text: "still held" } : looks[reason];
}
