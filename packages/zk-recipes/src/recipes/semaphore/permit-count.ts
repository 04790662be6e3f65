import { type HoldfastError, LayoutConflictError } from "@holdfast/core";
import { decodeInt } from "../../layout/numbers.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { requestFailure } from "../session/failures.js";

/** What an attempt asks of a semaphore's permits. */
export interface LeasesSpec {
  readonly lockName: string;
  /** Parent of the lease nodes. */
  readonly leases: string;
  /** How many permits it takes, all or none. */
  readonly permits: number;
  readonly limit: PermitCount;
}

/** The number of permits: as the client was given it, or the path of the shared count that has it. */
export type PermitCount = number | { readonly countPath: string };

/** The error for a count that could not be read, when asking again does not help. */
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

/** The present number of permits, read from the shared count. */
export async function fetchCount(lockName: string, path: string, session: ZooKeeperSession): Promise<number> {
  let data: Uint8Array | null;
  try {
    data = (await session.request("getData", { path, watch: false })).data;
  } catch (error) {
    throw countFailure(lockName, path, error as RequestError, session);
  }
  return decodeInt(path, data);
}
