import type { ObservedParticipant } from "../observe/observed-lock.js";
import { unknownMoment } from "./moment.js";

const blank: ObservedParticipant = {
  entry: "",
  actor: null,
  session: null,
  identity: null,
  mayBeKept: false,
  address: null,
  data: null,
  mode: "exclusive",
  permits: 1,
  position: null,
  since: unknownMoment,
  holdCount: null,
  remainingMs: null,
  lease: "unknown",
  deadlineMs: null,
  token: null,
  library: "unknown",
};

/** A participant of which nothing is known but `known`. */
export function participant(
  known: Partial<ObservedParticipant> & Pick<ObservedParticipant, "entry" | "library">,
): ObservedParticipant {
  return { ...blank, ...known };
}
