import type { RequestError, ZooKeeperSession } from "../../session/types.js";

/** A `sync` that was sent. Once a read behind it is answered, `failure` says whether that answer counts. */
export interface Sync {
  readonly failure: RequestError | null;
}

/**
 * Sends a `sync`. The caller sends its reads behind it, on the same connection. The server that answers the read may lag
 * behind the server that applied a write; once the `sync` is answered, it has caught up. If the `sync` failed, the read
 * shows nothing.
 */
export function sendSync(session: ZooKeeperSession): Sync {
  const sync: { failure: RequestError | null } = { failure: null };
  session.prove((outcome) => {
    if (!outcome.ok) sync.failure = outcome.error;
  });
  return sync;
}
