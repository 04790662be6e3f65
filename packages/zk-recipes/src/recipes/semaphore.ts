import type { PermitLimit, TicketProgress } from "@holdfast/core";
import type { CreateSettings } from "./create-settings.js";
import type { Hold } from "./hold.js";
import type { PermitsThereAre } from "./permit-gate.js";
import { SemaphoreAttempt, type SemaphoreSpec } from "./semaphore-attempt.js";
import type { SessionLine } from "./session-line.js";
import { holdTicket, type SessionTicket } from "./session-ticket.js";

/** Asks for permits of a semaphore, on the present session and, where that ends first, on the next. */
export function requestPermits(
  line: SessionLine,
  settings: CreateSettings,
  spec: SemaphoreSpec,
  progress: TicketProgress,
): SessionTicket<Hold> {
  return holdTicket(
    line,
    spec.lockName,
    (desk, listener, roundTripsBefore) =>
      new SemaphoreAttempt(desk, settings, spec, listener, roundTripsBefore),
    progress,
  );
}

/** `limit` as core hands it on: a mutex on a semaphore's nodes comes without one. */
export function permitsThereAre(
  limit: PermitLimit | null,
  pathOf: (name: string) => string,
): PermitsThereAre {
  if (limit === null) return 1;
  return typeof limit === "number" ? limit : { countPath: pathOf(limit.countedBy) };
}
