import type { TicketProgress } from "@holdfast/core";
import type { CreateSettings } from "./create-settings.js";
import type { Hold } from "./hold.js";
import { NaiveAttempt, type NaiveSpec } from "./naive-attempt.js";
import type { SessionLine } from "./session-line.js";
import { holdTicket, type SessionTicket } from "./session-ticket.js";

/** Asks for the one node of a naive mutex. */
export function requestNaive(
  line: SessionLine,
  settings: CreateSettings,
  spec: NaiveSpec,
  progress: TicketProgress,
): SessionTicket<Hold> {
  return holdTicket(
    line,
    spec.lockName,
    (desk, listener, roundTripsBefore) => new NaiveAttempt(desk, settings, spec, listener, roundTripsBefore),
    progress,
  );
}
