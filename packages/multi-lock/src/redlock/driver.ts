import {
  type Capabilities,
  type GrantRequest,
  type InspectOptions,
  type LockDriver,
  type LockSnapshot,
  type Millis,
  type PrimitiveKind,
  type Ticket,
  type TicketProgress,
  UnsupportedError,
} from "@holdfast/core";
import type { RedLockDesk } from "./desk.js";
import { askToLetGo, inspectRedLock } from "./inspect.js";
import { RedLockTicket } from "./red-lock-ticket.js";

const kinds: ReadonlySet<PrimitiveKind> = new Set<PrimitiveKind>(["mutex", "reentrant-mutex"]);
const closeWaitMs: Millis = 1_000;

/** The majority of several masters as core's driver. */
export class RedLockDriver implements LockDriver {
  readonly capabilities: Capabilities;
  readonly #desk: RedLockDesk;

  constructor(desk: RedLockDesk) {
    const { fencing } = desk.settings;
    this.#desk = desk;
    this.capabilities = {
      backend: "redlock",
      lease: "ttl",
      fencing: fencing === "none" ? "none" : fencing === "write-back" ? "best-effort" : "durable",
      fairness: "none",
      push: true,
      primitives: kinds,
    };
  }

  request(request: GrantRequest, progress: TicketProgress): Ticket {
    if (!kinds.has(request.kind)) {
      throw new UnsupportedError(`the backend redlock has no ${request.kind}`, {
        backend: "redlock",
        lockName: request.name,
      });
    }
    return new RedLockTicket(this.#desk, request, progress);
  }

  inspect(kind: PrimitiveKind, name: string, options: InspectOptions): Promise<LockSnapshot> {
    return inspectRedLock(this.#desk, kind, name, options);
  }

  /** Whoever a majority of nodes names is asked, on each of them. `false` for a holder that is not ours. */
  requestRevoke(_kind: PrimitiveKind, name: string): Promise<boolean> {
    return askToLetGo(this.#desk, name);
  }

  close(): Promise<void> {
    return this.#desk.close(closeWaitMs);
  }
}
