import { LockLostError } from "@holdfast/core";
import { errorCodes, type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import type { Outcome } from "../../session/types.js";
import type { CreateSettings } from "../create/create-settings.js";
import { isPassing, requestFailure } from "../session/failures.js";
import type { ZooKeeperGrant } from "./zookeeper-grant.js";

/** The last write to each grant's node: a repeat of an older one must not come after a newer one. */
const lastWrites: WeakMap<ZooKeeperGrant, Promise<void>> = new WeakMap();

/**
 * Writes other data into the node of a grant, which is all that Curator's participants show of each other. The answer shows
 * whose the node is: the grant is lost as `stolen` when the node is gone or not ours any more.
 *
 * A write whose answer was lost is sent again once there is contact. Rejects with `LockLostError` when the grant is over, or
 * ends meanwhile; with `BackendError` when the server refuses.
 */
export function announce(settings: CreateSettings, grant: ZooKeeperGrant, data: Uint8Array): Promise<void> {
  const before = lastWrites.get(grant) ?? Promise.resolve();
  const write = before.then(() => new Write(settings, grant, data).done);
  lastWrites.set(
    grant,
    write.catch(() => {}),
  );
  return write;
}

class Write {
  readonly done: Promise<void>;
  readonly #settings: CreateSettings;
  readonly #grant: ZooKeeperGrant;
  readonly #data: Uint8Array;
  readonly #startedMs: number;
  readonly #notOver: () => void;
  #attempts = 0;
  #settle!: { resolve(): void; reject(error: unknown): void };

  constructor(settings: CreateSettings, grant: ZooKeeperGrant, data: Uint8Array) {
    this.#settings = settings;
    this.#grant = grant;
    this.#data = data;
    this.#startedMs = settings.runtime.nowMs();
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#notOver = grant.context.whenOver(() => this.#lost());
    this.#send();
  }

  #send(): void {
    if (this.#grant.over) return this.#lost();
    this.#attempts++;
    const { context, backendId } = this.#grant;
    try {
      context.session.send("setData", { path: backendId, data: this.#data, version: -1 }, (outcome) =>
        this.#answered(outcome),
      );
    } catch (error) {
      this.#reject(error);
    }
  }

  #answered(outcome: Outcome<ResponseOf<"setData">>): void {
    if (this.#grant.over) return this.#lost();
    if (outcome.ok) {
      if (!this.#isOurs(outcome.value)) return this.#stolen();
      this.#notOver();
      return this.#settle.resolve();
    }
    const { error } = outcome;
    const { runtime, retry } = this.#settings;
    const { context, backendId, lockName } = this.#grant;
    if (!(error instanceof ZooKeeperError)) return context.whenUsable(() => this.#send());
    if (error.code === errorCodes.NoNode) return this.#stolen();
    const failure = requestFailure(`announcing in ${backendId}`, error, context.session, lockName);
    if (!isPassing(error)) return this.#reject(failure);
    const delayMs = retry.next(this.#attempts, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) this.#reject(failure);
    else runtime.setTimer(delayMs, () => this.#send(), { ref: true });
  }

  #isOurs({ stat }: ResponseOf<"setData">): boolean {
    const [{ czxid }] = this.#grant.nodes;
    return stat.czxid === czxid && stat.ephemeralOwner === this.#grant.context.session.id;
  }

  #stolen(): void {
    this.#grant.lose("stolen");
    this.#lost();
  }

  #lost(): void {
    const { context, lockName, token } = this.#grant;
    this.#reject(
      new LockLostError(`${lockName}: nothing is announced for a term that is over`, {
        reason: context.over ? "session-expired" : "stolen",
        token,
        lockName,
        backend: "zookeeper",
      }),
    );
  }

  #reject(error: unknown): void {
    this.#notOver();
    this.#settle.reject(error);
  }
}
