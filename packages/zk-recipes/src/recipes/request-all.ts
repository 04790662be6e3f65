import { InvalidArgumentError, type TicketProgress } from "@holdfast/core";
import type { CreateSettings } from "./create-settings.js";
import type { Hold } from "./hold.js";
import { type QueueParts, RequestAllAttempt } from "./request-all-attempt.js";
import type { SessionLine } from "./session-line.js";
import { SessionTicket } from "./session-ticket.js";

/**
 * Asks for several locks at once, all or none. Throws `InvalidArgumentError` for the same path twice: its second node would
 * wait for the first for ever.
 */
export function requestAll(
  line: SessionLine,
  settings: CreateSettings,
  parts: QueueParts,
  progress: TicketProgress,
): SessionTicket<readonly Hold[]> {
  const names = new Map<string, string>();
  for (const { lockName, parent } of parts) {
    const earlier = names.get(parent);
    if (earlier !== undefined) {
      throw new InvalidArgumentError(
        `several locks at once: ${earlier === lockName ? `"${lockName}" is there twice` : `"${earlier}" and "${lockName}" are the same path`}, and the second would wait for the first for ever`,
        { lockName },
      );
    }
    names.set(parent, lockName);
  }
  return new SessionTicket(
    line,
    {
      lockName: parts.map(({ lockName }) => lockName).join(", "),
      attempt: (desk, listener, roundTripsBefore) =>
        new RequestAllAttempt(desk, settings, parts, listener, roundTripsBefore),
      holdsOf: (holds) => holds,
    },
    progress,
  );
}
