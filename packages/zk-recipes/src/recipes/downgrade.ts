import { LockLostError } from "@holdfast/core";
import { baseName, CreateFlags, errorCodes, joinPath, parentOf, ZooKeeperError } from "@holdfast/zk-protocol";
import { protectionPrefix } from "../layout/protected-name.js";
import { readBase, sortKey, writeBase } from "../layout/queue-order.js";
import { saysNodeExists, saysNoNode } from "../session/errors.js";
import type { Outcome, RequestError } from "../session/types.js";
import type { CreateSettings } from "./create-settings.js";
import { isPassing, requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import type { OwnNode } from "./own-node-watch.js";

/**
 * Takes the read lock beside a write lock that is held, in the form of Curator 5.5.0 and later: an ephemeral node that
 * bears the write's number, and so keeps its place when the write node goes. Older versions put their read at the tail,
 * where a queued writer overtakes it (CURATOR-621).
 *
 * The write node is read behind the create, in the same write: a write that somebody has deleted gives no read, whoever
 * holds by now. The name is ours alone, so a create whose answer was lost is simply sent again. Rejects with
 * `LockLostError` when the write is gone, with `BackendError` when the server refuses; no node is left then.
 */
export function downgrade(settings: CreateSettings, write: Hold, revocable: boolean): Promise<Hold> {
  return new Promise((resolve, reject) => {
    new Downgrade(settings, write, revocable, { resolve, reject }).start();
  });
}

class Downgrade {
  readonly #settings: CreateSettings;
  readonly #write: Hold;
  readonly #revocable: boolean;
  readonly #settle: { resolve(hold: Hold): void; reject(error: unknown): void };
  readonly #path: string;
  readonly #startedMs: number;
  #attempts = 0;
  #notOver: () => void = () => {};

  constructor(
    settings: CreateSettings,
    write: Hold,
    revocable: boolean,
    settle: { resolve(hold: Hold): void; reject(error: unknown): void },
  ) {
    const sequence = sortKey(baseName(write.backendId), readBase, writeBase);
    const name = `${protectionPrefix(settings.runtime.randomId())}${readBase}${sequence}`;
    this.#settings = settings;
    this.#write = write;
    this.#revocable = revocable;
    this.#settle = settle;
    this.#path = joinPath(parentOf(write.backendId), name);
    this.#startedMs = settings.runtime.nowMs();
  }

  start(): void {
    this.#notOver = this.#write.desk.whenOver(() => this.#lost());
    this.#try();
  }

  #try(): void {
    const { session, nodes } = this.#write.desk;
    if (this.#write.over) return this.#lost();
    this.#attempts++;
    const path = this.#path;
    let made: RequestError | null = null;
    let node: OwnNode | null = null;
    session.batch(() => {
      try {
        // Code of the caller's, and an ACL that may be too large to send: a mistake in them is that of this one call.
        const acl = this.#settings.aclOf(path);
        session.send(
          "create2",
          { path, data: this.#write.data, acl, flags: CreateFlags.ephemeral },
          (outcome) => {
            if (!outcome.ok) made = outcome.error;
          },
        );
      } catch (error) {
        return this.#giveUp(error);
      }
      nodes.add(path);
      // The czxid of a node that was there already, too.
      session.send("exists", { path, watch: false }, (outcome) => {
        if (outcome.ok) node = { path, name: baseName(path), czxid: outcome.value.stat.czxid };
      });
      session.send("exists", { path: this.#write.backendId, watch: false }, (outcome) => {
        this.#answered(made, node, outcome);
      });
    });
  }

  #answered(
    made: RequestError | null,
    node: OwnNode | null,
    write: Outcome<{ stat: { czxid: bigint } }>,
  ): void {
    if (this.#write.over) return this.#lost();
    if (made !== null && !saysNodeExists(made)) return this.#failed(made);
    if (!write.ok && !saysNoNode(write.error)) return this.#failed(write.error);
    if (!write.ok || write.value.stat.czxid !== this.#write.token) {
      this.#write.lose("stolen");
      return this.#lost();
    }
    // Made and gone again: somebody deletes what they do not know.
    if (node === null)
      return this.#again(made ?? new ZooKeeperError(errorCodes.NoNode, { op: "exists", path: this.#path }));
    this.#notOver();
    this.#settle.resolve(
      new Hold(this.#write.desk, {
        lockName: this.#write.lockName,
        data: this.#write.data,
        nodes: [node],
        token: this.#write.token,
        permitIds: [],
        grantedAtMs: this.#settings.runtime.nowMs(),
        roundTrips: this.#attempts,
        contended: false,
        revocable: this.#revocable,
        watches: [],
      }),
    );
  }

  #failed(error: RequestError): void {
    if (!(error instanceof ZooKeeperError)) return this.#write.desk.whenUsable(() => this.#try());
    if (isPassing(error)) return this.#again(error);
    this.#giveUp(this.#failure(error));
  }

  #again(error: RequestError): void {
    const { runtime, retry } = this.#settings;
    const delayMs = retry.next(this.#attempts, runtime.nowMs() - this.#startedMs, this.#failure(error));
    if (delayMs === null) return this.#giveUp(this.#failure(error));
    runtime.setTimer(delayMs, () => this.#try(), { ref: true });
  }

  /** An earlier try may have made the node. */
  #giveUp(error: unknown): void {
    const { deletions } = this.#write.desk;
    deletions.delete(this.#path, () => this.#reject(error));
  }

  #failure(error: Error): Error {
    const what = `taking the read lock beside ${this.#write.backendId}`;
    return requestFailure(what, error, this.#write.desk.session, this.#write.lockName);
  }

  /** The write is gone, and whatever read there may be must follow. */
  #lost(): void {
    const { desk, lockName, token } = this.#write;
    const error = new LockLostError(
      `${lockName}: the write lock was lost before the read lock could be taken beside it`,
      {
        reason: desk.over ? "session-expired" : "stolen",
        token,
        lockName,
        backend: "zookeeper",
      },
    );
    if (desk.over) return this.#reject(error);
    desk.deletions.delete(this.#path, () => this.#reject(error));
  }

  #reject(error: unknown): void {
    this.#notOver();
    this.#settle.reject(error);
  }
}
