import { BackendError } from "@holdfast/core";
import { errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import type { ZooKeeperSession } from "../../session/types.js";
import { orNone } from "../session/failures.js";

/**
 * The error for a missing chroot. Only the operator makes the chroot: a wrong one, made by us, would be a second and
 * empty set of locks. `cause`: the server's refusal, if it answered another request than a look for the chroot.
 */
export function missingChroot(
  chroot: string,
  session: ZooKeeperSession,
  lockName: string,
  cause: Error = new ZooKeeperError(errorCodes.NoNode, { op: "exists", path: chroot }),
): BackendError {
  return new BackendError(
    `the chroot ${chroot} does not exist on ${session.servers.join(", ")}: create it, or correct the path at the end of the connect string`,
    { cause, backend: "zookeeper", lockName, servers: session.servers, retryable: false },
  );
}

/** Rejects with `BackendError` when the chroot does not exist. */
export async function checkChroot(
  chroot: string,
  session: ZooKeeperSession,
  lockName: string,
): Promise<void> {
  if (chroot === "") return;
  const asked = session.request("exists", { path: chroot, watch: false });
  const there = await orNone(asked, `looking for the chroot ${chroot}`, session, lockName);
  if (there === null) throw missingChroot(chroot, session, lockName);
}
