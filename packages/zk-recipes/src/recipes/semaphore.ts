import { InvalidArgumentError, type PermitLimit, type TicketProgress } from "@holdfast/core";
import {
  CreateFlags,
  encodeRequest,
  joinPath,
  maxRequestBytes,
  requestHeaderBytes,
} from "@holdfast/zk-protocol";
import { protectionPrefix } from "../layout/protected-name.js";
import { leaseBase } from "../layout/queue-order.js";
import type { CreateSettings } from "./create-settings.js";
import type { Hold } from "./hold.js";
import type { PermitsThereAre } from "./permit-gate.js";
import { SemaphoreAttempt, type SemaphoreSpec, semaphorePaths } from "./semaphore-attempt.js";
import type { SessionLine } from "./session-line.js";
import { holdTicket, type SessionTicket } from "./session-ticket.js";

/** Asks for permits of a semaphore, on the present session and, where that ends first, on the next. */
export function requestPermits(
  line: SessionLine,
  settings: CreateSettings,
  spec: SemaphoreSpec,
  progress: TicketProgress,
): SessionTicket<Hold> {
  if (spec.permits > 1) checkBatch(spec, settings);
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

/** All permits of a batch are made in one transaction, which a server takes up to a size. */
function checkBatch({ lockName, path, data, permits }: SemaphoreSpec, settings: CreateSettings): void {
  const lease = joinPath(
    semaphorePaths(path).leases,
    protectionPrefix(settings.runtime.randomId()) + leaseBase,
  );
  const request = { path: lease, data, acl: settings.aclOf(lease), flags: CreateFlags.ephemeralSequential };
  const empty = encodeRequest("multi", { ops: [] }).length;
  const each = encodeRequest("multi", { ops: [{ op: "create2", request }] }).length - empty;
  const most = Math.floor((maxRequestBytes - requestHeaderBytes - empty) / each);
  if (permits <= most) return;
  throw new InvalidArgumentError(
    `${lockName}: permits = ${permits} do not fit into one transaction of ZooKeeper, which takes ${maxRequestBytes} bytes: ask for ${most} at most`,
    { lockName, backend: "zookeeper" },
  );
}
