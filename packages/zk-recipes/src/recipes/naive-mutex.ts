import type { TicketProgress } from "@holdfast/core";
import type { Hold } from "./hold.js";
import { NaiveAttempt, type NaiveSpec } from "./naive-attempt.js";
import type { CreateSettings } from "./protected-create.js";
import type { SessionLine } from "./session-line.js";
import { SessionTicket } from "./session-ticket.js";

/** Asks for the one node of a naive mutex. */
export function requestNaive(
  line: SessionLine,
  settings: CreateSettings,
  spec: NaiveSpec,
  progress: TicketProgress,
): SessionTicket<Hold> {
  return new SessionTicket(
    line,
    {
      lockName: spec.lockName,
      attempt: (desk, listener, roundTripsBefore) =>
        new NaiveAttempt(desk, settings, spec, listener, roundTripsBefore),
      holdsOf: (hold) => [hold],
    },
    progress,
  );
}
