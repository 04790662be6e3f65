import type { HoldfastError, LockLostError } from "@holdfast/core";
import type { AttemptListener } from "@holdfast/core/driver";
import { baseName, CreateFlags, errorCodes, joinPath, parentOf, ZooKeeperError } from "@holdfast/zk-protocol";
import { protectionPrefix, readBase, sortKey, writeBase } from "../../layout/queue-order.js";
import { saysNodeExists, saysNoNode } from "../../session/errors.js";
import type { Outcome, RequestError } from "../../session/types.js";
import type { CreateSettings } from "../create/create-settings.js";
import { ownNode } from "../create/node-creates.js";
import type { OwnNode } from "../grant/own-node-watch.js";
import { ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import { isPassing, requestFailure } from "../session/failures.js";
import { deleteNode, SessionAttempt } from "../session-attempt.js";

/**
 * Takes the read lock beside a write lock that is held, in the form of Curator 5.5.0 and later: an ephemeral node with
 * the number of the write node. So the read keeps its place when the write node goes. Older versions put their read at
 * the tail, where a queued writer overtakes it (CURATOR-621).
 *
 * The write node is read behind the create, in the same write. If another client has deleted the write node there is no
 * read, whichever client holds by then. The name of the read node is ours alone, so a create whose answer was lost is
 * simply sent again.
 *
 * Fails with `LockLostError` when the write is gone, and with `BackendError` when the server refuses. No node is left
 * then.
 */
export class DowngradeAttempt extends SessionAttempt {
  override roundTrips = 0;
  override readonly queued = false;
  readonly #write: ZooKeeperGrant;
  readonly #revocable: boolean;
  readonly #path: string;

  constructor(
    settings: CreateSettings,
    write: ZooKeeperGrant,
    revocable: boolean,
    listener: AttemptListener,
  ) {
    super(write.context, settings, listener);
    const sequence = sortKey(baseName(write.backendId), readBase, writeBase);
    const name = `${protectionPrefix(settings.runtime.randomId())}${readBase}${sequence}`;
    this.#write = write;
    this.#revocable = revocable;
    this.#path = joinPath(parentOf(write.backendId), name);
  }

  protected override stop(): void {}

  protected override takeBack(): Promise<void>[] {
    return [deleteNode(this.context, this.#write.parts.lockName, this.#path)];
  }

  /** The write lock has ended with the session too, so the attempt does not go on on another session. */
  protected override sessionEnded(): void {
    this.listener.failed(this.#lost());
  }

  override start(): void {
    if (this.over) return;
    if (this.#write.over) return this.failed(this.#lost());
    const { session, nodes } = this.context;
    const path = this.#path;
    let made: RequestError | null = null;
    let node: OwnNode | null = null;
    this.roundTrips++;
    try {
      // The ACL function is the caller's, and the ACL may be too large to send: such a mistake fails this call alone.
      const acl = this.settings.aclOf(path);
      // The ACL function may abort this call. The delete of the node has left then.
      if (this.over) return;
      const { data } = this.#write.parts;
      session.send("create2", { path, data, acl, flags: CreateFlags.ephemeral }, (outcome) => {
        if (!outcome.ok) made = outcome.error;
      });
    } catch (error) {
      return this.failed(error);
    }
    nodes.set(path, 0n);
    // This also gives the czxid of a node that an earlier try has made.
    session.send("exists", { path, watch: false }, (outcome) => {
      if (outcome.ok) node = ownNode(path, outcome.value.stat.czxid);
    });
    session.send("exists", { path: this.#write.backendId, watch: false }, (outcome) => {
      this.#answered(made, node, outcome);
    });
  }

  #answered(
    made: RequestError | null,
    node: OwnNode | null,
    write: Outcome<{ stat: { czxid: bigint } }>,
  ): void {
    if (this.over) return;
    if (this.#write.over) return this.failed(this.#lost());
    if (made !== null && !saysNodeExists(made)) return this.#refused(made);
    if (!write.ok && !saysNoNode(write.error)) return this.#refused(write.error);
    if (!write.ok || write.value.stat.czxid !== this.#write.token) {
      this.#write.lose("stolen");
      return this.failed(this.#lost());
    }
    if (node !== null) return this.#granted(node);
    // The node was made and is gone again: another client deletes nodes that it does not know.
    const gone = made ?? new ZooKeeperError(errorCodes.NoNode, { op: "exists", path: this.#path });
    this.retry(this.#failure(gone), () => this.start());
  }

  #granted(node: OwnNode): void {
    const { token, parts } = this.#write;
    const { lockName, data } = parts;
    const grant = new ZooKeeperGrant(this.context, {
      lockName,
      data,
      nodes: [node],
      token,
      roundTrips: this.roundTrips,
      contended: false,
      revocable: this.#revocable,
    });
    this.grant([grant]);
  }

  #refused(error: RequestError): void {
    if (!(error instanceof ZooKeeperError)) return this.context.whenUsable(() => this.start());
    const failure = this.#failure(error);
    if (isPassing(error)) this.retry(failure, () => this.start());
    else this.failed(failure);
  }

  #failure(error: Error): HoldfastError {
    const what = `taking the read lock beside ${this.#write.backendId}`;
    return requestFailure(what, error, this.context.session, this.#write.parts.lockName);
  }

  #lost(): LockLostError {
    return this.#write.lossError("the write lock was lost before the read lock could be taken beside it");
  }
}
