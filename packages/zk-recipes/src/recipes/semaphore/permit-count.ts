import { type HoldfastError, LayoutConflictError } from "@holdfast/core";
import { decodeInt } from "../../layout/numbers.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { requestFailure } from "../session/failures.js";

/** What an attempt asks of the permits of a semaphore. */
export interface LeasesSpec {
  readonly lockName: string;
  /** Parent of the lease nodes. */
  readonly leases: string;
  /** How many, all or none. */
  readonly permits: number;
  readonly limit: PermitCount;
}

/** How many permits there are: as the client was given it, or the path of the shared count that says it. */
export type PermitCount = number | { readonly countPath: string };

/** The count could not be read, and asking again does not help. */
export function countFailure(
  lockName: string,
  path: string,
  error: RequestError,
  session: ZooKeeperSession,
): HoldfastError {
  if (saysNoNode(error)) {
    return new LayoutConflictError(
      `${lockName}: there is no shared count at ${path} to say how many permits there are; create the count first`,
      { cause: error, lockName, backend: "zookeeper" },
    );
  }
  return requestFailure(`reading the shared count ${path}`, error, session, lockName);
}

/** How many permits there are, as the count says now. */
export async function fetchCount(lockName: string, path: string, session: ZooKeeperSession): Promise<number> {
  let data: Uint8Array | null;
  try {
    data = (await session.request("getData", { path, watch: false })).data;
  } catch (error) {
    throw countFailure(lockName, path, error as RequestError, session);
  }
  return decodeInt(path, data);
}
