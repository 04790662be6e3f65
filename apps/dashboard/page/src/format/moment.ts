import type { Participant } from "../../../src/contract/api.js";
import { duration } from "./duration.js";

export type Moment = Participant["since"];

export interface Age {
  /** `00:41`, `≥ 01:10`, or `unknown`. */
  readonly text: string;
  /** How it is known, in one or two words; empty where there is nothing to be known. */
  readonly note: string;
  /** The same for whoever asks. */
  readonly why: string;
}

/** How long ago, with how that is known. Never a number that nobody measured. */
export function age(moment: Moment, nowMs: number): Age {
  if (moment.atMs === null || moment.provenance === "unknown") {
    return {
      text: "unknown",
      note: "",
      why: "The backend does not tell, and the collector has not seen it begin.",
    };
  }
  const text = duration(nowMs - moment.atMs);
  return moment.provenance === "exact"
    ? { text, note: "exact", why: "By the backend's own time of the event." }
    : { text: `≥ ${text}`, note: "first seen", why: "At least so long: since the collector first saw it." };
}
