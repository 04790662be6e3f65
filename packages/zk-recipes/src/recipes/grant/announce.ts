import { type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome } from "../../session/types.js";
import type { CreateSettings } from "../create/create-settings.js";
import { isPassing, requestFailure } from "../session/failures.js";
import type { SessionContext } from "../session-context.js";
import type { ZooKeeperGrant } from "./zookeeper-grant.js";

/**
 * The last write to each grant's node. A write waits for the one before it, because the repeat of an older write must not
 * come after a newer one.
 */
const lastWrites: WeakMap<ZooKeeperGrant, Promise<void>> = new WeakMap();

/**
 * Writes other data into the node of a grant. Curator's participants show nothing of each other but this data. The answer
 * shows whose the node is: the grant is lost as `stolen` when the node is gone or is not ours any more.
 *
 * A write whose answer was lost is sent again once there is contact. Rejects with `LockLostError` when the grant is over
 * or ends meanwhile, and with `BackendError` when the server refuses.
 */
export function announce(settings: CreateSettings, grant: ZooKeeperGrant, data: Uint8Array): Promise<void> {
  const before = lastWrites.get(grant) ?? Promise.resolve();
  const written = before.then(() => write(settings, grant, data));
  // The next write waits for this one, also if this one fails. The error goes to the caller of this write alone.
  const ended = written.catch(() => {});
  lastWrites.set(grant, ended);
  return written;
}

async function write(settings: CreateSettings, grant: ZooKeeperGrant, data: Uint8Array): Promise<void> {
  const { context, backendId: path } = grant;
  const { lockName } = grant.parts;
  const { runtime, retry } = settings;
  const startedMs = runtime.nowMs();
  for (let tries = 1; !grant.over; tries++) {
    const outcome = await orOver<Outcome<ResponseOf<"setData">>>(context, (settle) =>
      context.session.send("setData", { path, data, version: -1 }, settle),
    );
    if (outcome === null || grant.over) break;
    if (outcome.ok && isOurs(grant, outcome.value)) return;
    if (outcome.ok || saysNoNode(outcome.error)) {
      grant.lose("stolen");
      break;
    }
    const { error } = outcome;
    if (error instanceof ZooKeeperError) {
      const failure = requestFailure(`announcing in ${path}`, error, context.session, lockName);
      const delayMs = isPassing(error) ? retry.next(tries, runtime.nowMs() - startedMs, failure) : null;
      if (delayMs === null) throw failure;
      await orOver<void>(context, (settle) => context.pause(delayMs, settle));
    } else await orOver<void>(context, (settle) => context.whenUsable(settle));
  }
  throw grant.lossError("nothing is announced for a term that is over");
}

/** The value that `start` settles with; `null` if the session is over first. */
function orOver<T>(context: SessionContext, start: (settle: (value: T) => void) => void): Promise<T | null> {
  let notOver = (): void => {};
  const over = new Promise<null>((resolve) => {
    notOver = context.whenOver(() => resolve(null));
  });
  return Promise.race([new Promise<T>(start), over]).finally(notOver);
}

function isOurs({ nodes: [{ czxid }], context }: ZooKeeperGrant, { stat }: ResponseOf<"setData">): boolean {
  return stat.czxid === czxid && stat.ephemeralOwner === context.session.id;
}
