import { type HoldfastError, LayoutConflictError } from "@holdfast/core";
import type { AttemptListener } from "@holdfast/core/driver";
import { CreateFlags, errorCodes, parentOf, type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import type { Outcome, RequestError, WatchHandle } from "../../session/types.js";
import type { CreateSettings } from "../create/create-settings.js";
import { MissingParents } from "../create/missing-parents.js";
import { ownNode } from "../create/node-creates.js";
import { ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import type { SharedName } from "../session/deletions.js";
import { isFinal, requestFailure } from "../session/failures.js";
import { type Sync, sendSync } from "../session/sync.js";
import { deleteNode, type LockSpec, SessionAttempt } from "../session-attempt.js";
import type { SessionContext } from "../session-context.js";

/**
 * A lock that is one ephemeral node of a fixed name, the path of the lock. The session that makes the node holds. All
 * others watch the node and try again when it goes. There is no order. Each release wakes all waiters, and all but one in
 * vain: this is the herd that queue nodes avoid.
 *
 * The name does not say whose node it is. After a create whose answer was lost, the session that owns the node shows it.
 * If several attempts of this session may have made the node, `SessionContext.claim()` decides.
 *
 * The lock is safe as long as no other client deletes the node. If one does, there is a window. A release that leaves
 * after that delete, but before its event has come, deletes the node of the next holder. That holder is notified that its
 * hold is lost, but a third client may hold already.
 *
 * No delete can distinguish the two nodes: the version counts changes of the data, and starts from 0 with each node. (Two
 * designs could: a second, lasting node that counts the creates in every client's transactions, or an ACL for each
 * holder. Both cost more than this lock is worth.) Queue nodes have no such window: no name is ever used twice.
 */
export class NaiveAttempt extends SessionAttempt {
  override roundTrips = 0;
  override readonly queued = false;
  readonly #spec: LockSpec;
  #contended = false;
  /** The czxid of our node, once its create is confirmed; otherwise `null`. */
  #czxid: bigint | null = null;
  /** A create is on its way, or its answer was lost. */
  #doubt = false;
  #watch: WatchHandle | null = null;
  /** Ends a withdrawal that waits until it is known whether our node exists. */
  #gone: (deleted?: Promise<void>) => void = () => {};

  constructor(context: SessionContext, settings: CreateSettings, spec: LockSpec, listener: AttemptListener) {
    super(context, settings, listener);
    this.#spec = spec;
  }

  protected override stop(): void {
    this.#watch?.drop();
    this.#watch = null;
  }

  protected override takeBack(): Promise<void>[] {
    if (this.#czxid !== null) return [this.#deleteOwn(this.#czxid, { watched: false })];
    if (!this.#doubt) return [];
    // The request on its way goes on until it is known whether there is a node of ours.
    const gone = new Promise<void>((resolve) => {
      this.#gone = resolve;
    });
    return [gone.finally(this.context.whenOver(this.#gone))];
  }

  /** `missingLevels`: the parents to make in front of the node; `null` before a refusal has shown that they are missing. */
  override start(missingLevels: readonly string[] | null = null): void {
    if (this.over) return this.#gone();
    this.context.creating.enter(() => {
      if (!this.over) return this.#send(missingLevels);
      this.context.creating.leave();
    });
  }

  #send(missingLevels: readonly string[] | null): void {
    const { session, creating } = this.context;
    const { path, data } = this.#spec;
    try {
      // The ACL function is the caller's, and values may be too large to send: such a mistake fails this acquire alone.
      const parents = missingLevels === null ? null : new MissingParents(this.settings, missingLevels);
      const acl = this.settings.aclOf(path);
      // The ACL function may abort this call. Nothing was sent then.
      if (this.over) return creating.leave();
      parents?.send(session);
      session.send("create2", { path, data, acl, flags: CreateFlags.ephemeral }, (outcome) => {
        creating.leave();
        this.#created(outcome, parents);
      });
      this.roundTrips++;
      this.#doubt = true;
    } catch (error) {
      creating.leave();
      this.failed(error);
    }
  }

  #created(outcome: Outcome<ResponseOf<"create2">>, parents: MissingParents | null): void {
    if (outcome.ok) return this.#ours(outcome.value.stat.czxid);
    const { error } = outcome;
    const { path, lockName } = this.#spec;
    if (error.name === "OutcomeUnknownError") return this.context.whenUsable(() => this.#look());
    this.#doubt = false;
    if (this.over) return this.#gone();
    if (!(error instanceof ZooKeeperError)) return this.context.whenUsable(() => this.start());
    if (error.code === errorCodes.NodeExists) return this.#look();
    if (error.code === errorCodes.NoNode) {
      if (parents === null) return this.start(this.settings.paths.levelsOf(parentOf(path)));
      const refusal = parents.refusal(this.context.session, lockName);
      if (refusal !== null) return this.failed(refusal);
    } else if (isFinal(error)) return this.failed(this.#failure(error));
    this.retry(this.#failure(error), () => this.start());
  }

  /** Reads the node, which shows whose it is, and watches it. */
  #look(): void {
    if (this.over && !this.#doubt) return;
    const { session } = this.context;
    this.roundTrips++;
    // The server that answers may lag behind the server that made the node.
    const sync: Sync | null = this.#doubt ? sendSync(session) : null;
    this.#watch = session.watchExists(this.#spec.path, {
      answered: (outcome) => {
        const failure = sync?.failure ?? (outcome.ok ? null : outcome.error);
        if (failure === null && outcome.ok) return this.#looked(outcome.value);
        this.stop();
        const error = failure as RequestError;
        // While in doubt no refusal ends the attempt. Otherwise a node of ours could stay and keep all other clients out
        // until the session ends.
        if (isFinal(error) && !this.#doubt) this.failed(this.#failure(error));
        else this.context.again(error, () => this.#look());
      },
      fired: (type) => {
        if (this.over) return;
        this.#watch = null;
        if (type !== "deleted") return this.#look();
        this.listener.notified();
        this.start();
      },
    });
  }

  #looked(found: ResponseOf<"exists"> | null): void {
    const { path, lockName, mayWait } = this.#spec;
    if (found !== null && this.#isOurs(found.stat)) {
      this.stop();
      return this.#ours(found.stat.czxid);
    }
    // With a `sync` in front of the read, this shows that our node was never made or is gone again.
    this.#doubt = false;
    this.#czxid = null;
    if (this.over || found === null) {
      this.stop();
      return this.start();
    }
    if (found.stat.ephemeralOwner === 0n) {
      const message = `${lockName}: ${path} is there already and does not belong to a session, so it never goes, and no client would be granted; a naive mutex needs a path of its own`;
      return this.failed(new LayoutConflictError(message, { lockName, backend: "zookeeper" }));
    }
    this.#contended = true;
    if (mayWait) this.listener.waiting();
    else this.unavailable();
  }

  #isOurs({ czxid, ephemeralOwner }: { czxid: bigint; ephemeralOwner: bigint }): boolean {
    if (this.#czxid !== null) return czxid === this.#czxid;
    if (!this.#doubt || ephemeralOwner !== this.context.session.id) return false;
    return !this.context.isClaimed(this.#spec.path, czxid);
  }

  #ours(czxid: bigint): void {
    const { path } = this.#spec;
    this.context.claim(path, czxid);
    this.#doubt = false;
    this.#czxid = czxid;
    // The answer just before has shown the node, so this counts as watched.
    if (this.over) return this.#gone(this.#deleteOwn(czxid, { watched: true }));
    if (this.context.leaseAhead) this.#grant(czxid);
    else this.context.whenLeased(() => this.#look());
  }

  #grant(czxid: bigint): void {
    const { path, lockName, data, revocable } = this.#spec;
    this.stop();
    const grant = new ZooKeeperGrant(this.context, {
      lockName,
      data,
      nodes: [ownNode(path, czxid)],
      token: czxid,
      roundTrips: this.roundTrips,
      contended: this.#contended,
      revocable,
      sharedNames: true,
    });
    this.grant([grant]);
  }

  #deleteOwn(czxid: bigint, { watched }: Pick<SharedName, "watched">): Promise<void> {
    const { path, lockName } = this.#spec;
    return deleteNode(this.context, lockName, path, `deleting ${path}`, { czxid, watched });
  }

  #failure(error: RequestError): HoldfastError {
    const { path, lockName } = this.#spec;
    return requestFailure(`taking ${path}`, error, this.context.session, lockName);
  }
}
