import { BackendError } from "@holdfast/core";
import { saysNoNode } from "../../session/errors.js";
import type { ZooKeeperSession } from "../../session/types.js";
import { requestFailure } from "../session/failures.js";

/** The chroot is the operator's to make: a wrong one made by us would be a second, empty world of locks. */
export function missingChroot(
  chroot: string,
  session: ZooKeeperSession,
  lockName: string,
  cause: Error,
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
  try {
    await session.request("exists", { path: chroot, watch: false });
  } catch (error) {
    if (saysNoNode(error)) {
      throw missingChroot(chroot, session, lockName, error);
    }
    throw requestFailure(`looking for the chroot ${chroot}`, error as Error, session, lockName);
  }
}
