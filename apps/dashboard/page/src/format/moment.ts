import type { Participant } from "../../../src/contract/api.js";
import { duration } from "./duration.js";

export type Moment = Participant["since"];

export interface Age {
  /** `41 s`, `≥ 1 min 10 s`, or `unknown`. */
  readonly text: string;
  /** How it is known, in one or two words; empty if there is nothing to say. */
  readonly note: string;
  /** How it is known, in a whole sentence for a reader who asks why. */
  readonly why: string;
}

/** How long ago the moment was, and how that is known. A number is given only if it was measured. */
export function age(moment: Moment, nowMs: number): Age {
  if (moment.atMs === null || moment.provenance === "unknown") {
    return {
      text: "unknown",
      note: "",
      why: "The backend does not keep it, and the dashboard has not seen it begin.",
    };
  }
  const text = duration(nowMs - moment.atMs);
  return moment.provenance === "exact"
    ? { text, note: "exact", why: "By the backend's own time of the event." }
    : { text: `≥ ${text}`, note: "first seen", why: "At least so long: since the dashboard first saw it." };
}
