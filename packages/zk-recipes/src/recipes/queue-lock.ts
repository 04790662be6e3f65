import type { TicketProgress } from "@holdfast/core";
import type { CreateSettings } from "./create-settings.js";
import type { Hold } from "./hold.js";
import { QueueAttempt, type QueueSpec } from "./queue-attempt.js";
import type { SessionLine } from "./session-line.js";
import { holdTicket, type SessionTicket } from "./session-ticket.js";

/** Asks for a lock whose holder is the head of a queue; the rule says which lock. */
export function requestPlace(
  line: SessionLine,
  settings: CreateSettings,
  spec: QueueSpec,
  progress: TicketProgress,
): SessionTicket<Hold> {
  return holdTicket(
    line,
    spec.lockName,
    (desk, listener, roundTripsBefore) => new QueueAttempt(desk, settings, spec, listener, roundTripsBefore),
    progress,
  );
}
