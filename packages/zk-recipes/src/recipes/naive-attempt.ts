import { type HoldfastError, LayoutConflictError, type Millis } from "@holdfast/core";
import {
  baseName,
  CreateFlags,
  errorCodes,
  parentOf,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { Outcome, RequestError, WatchHandle } from "../session/types.js";
import type { AttemptListener } from "./attempt.js";
import type { CreateSettings } from "./create-settings.js";
import { isFinal, requestFailure } from "./failures.js";
import { Hold } from "./hold.js";
import { MissingParents } from "./missing-parents.js";
import { claim, isClaimed } from "./node-claims.js";
import { SessionAttempt } from "./session-attempt.js";
import type { SessionDesk } from "./session-desk.js";

export interface NaiveSpec {
  readonly lockName: string;
  /** Of the lock and of its one node. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly mayWait: boolean;
  readonly revocable: boolean;
}

type Exists = ResponseOf<"exists"> | null;

/**
 * A lock that is one ephemeral node of a fixed name: whoever makes it holds, everybody else watches it and tries again when it
 * goes. Without any order, and each release wakes all waiters, all but one in vain: the herd that queue nodes avoid.
 *
 * The name tells nobody whose node it is. After a create whose answer was lost the session that owns the node does, and,
 * among several here who may have made it, `claim()`.
 *
 * Safe as long as nobody else deletes the node, with one window where somebody does: a release that leaves after that, and
 * before the news of it has come, deletes the node of whoever has made it since, who is then told that it is lost, while
 * the next may hold already. No delete can tell the two nodes apart: its version counts changes of the data, and each new
 * node counts from 0. (What could, a second node that lasts and counts the makings in every client's transactions, or an
 * ACL of each holder's own, costs more than this lock is for.)
 * Queue nodes have no such window: no name is ever used twice.
 */
export class NaiveAttempt extends SessionAttempt<Hold> {
  override roundTrips = 0;
  override readonly queued = false;
  readonly #spec: NaiveSpec;
  readonly #startedMs: Millis;
  #attempt = 0;
  #contended = false;
  /** Of our node, once we know that there is one. */
  #czxid: bigint | null = null;
  /** A create is on its way, or its answer was lost. */
  #doubt = false;
  #watch: WatchHandle | null = null;
  #endPause: () => void = () => {};
  #withdrawn: ((refused: HoldfastError | null) => void) | null = null;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    spec: NaiveSpec,
    listener: AttemptListener<Hold>,
    roundTripsBefore: number,
  ) {
    super(desk, settings, listener, roundTripsBefore);
    this.#spec = spec;
    this.#startedMs = settings.runtime.nowMs();
  }

  override start(): void {
    this.#create([]);
  }

  override drop(): void {
    super.drop();
    this.#endPause();
    this.#watch?.drop();
  }

  override withdraw(gone: (refused: HoldfastError | null) => void): void {
    this.drop();
    if (this.desk.over) return gone(null);
    const notOver = this.desk.whenOver(() => this.#gone(null));
    this.#withdrawn = (refused) => {
      notOver();
      gone(refused);
    };
    // With a create on its way, or an answer lost, what comes next goes on.
    if (this.#czxid !== null) this.#deleteOwn(this.#czxid);
    else if (!this.#doubt) this.#gone(null);
  }

  #create(missingLevels: readonly string[]): void {
    if (this.over) return this.#gone(null);
    this.desk.creating.enter(() => {
      if (!this.over) return this.#send(missingLevels);
      this.desk.creating.leave();
      this.#gone(null);
    });
  }

  #send(missingLevels: readonly string[]): void {
    const { session, creating } = this.desk;
    const { path, data } = this.#spec;
    let mistake: HoldfastError | null = null;
    session.batch(() => {
      try {
        // Code of the caller's, and values that may be too large to send: a mistake in them is that of this one acquire.
        const parents = new MissingParents(this.settings, missingLevels);
        const acl = this.settings.aclOf(path);
        parents.send(session);
        session.send("create2", { path, data, acl, flags: CreateFlags.ephemeral }, (outcome) => {
          creating.leave();
          this.#created(outcome, parents);
        });
        this.roundTrips++;
        this.#doubt = true;
      } catch (error) {
        mistake = error as HoldfastError;
      }
    });
    if (mistake === null) return;
    creating.leave();
    this.fail(mistake);
  }

  #created(outcome: Outcome<ResponseOf<"create2">>, parents: MissingParents): void {
    if (outcome.ok) return this.#ours(outcome.value.stat.czxid);
    const { error } = outcome;
    const { path, lockName } = this.#spec;
    if (error.name === "OutcomeUnknownError") return this.desk.whenUsable(() => this.#look());
    this.#doubt = false;
    if (this.over) return this.#gone(null);
    if (!(error instanceof ZooKeeperError)) return this.desk.whenUsable(() => this.#create([]));
    if (error.code === errorCodes.NodeExists) return this.#look();
    if (error.code === errorCodes.NoNode) {
      const levels = this.settings.paths.levelsOf(parentOf(path));
      if (parents.levels.length === 0) return this.#create(levels);
      const refusal = parents.refusal(this.desk.session, lockName);
      if (refusal !== null) return this.fail(refusal);
    } else if (isFinal(error)) return this.fail(this.#failure(error));
    this.#again(error);
  }

  #again(error: ZooKeeperError): void {
    const { runtime, retry } = this.settings;
    this.#attempt++;
    const failure = this.#failure(error);
    const delayMs = retry.next(this.#attempt, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) return this.fail(failure);
    this.#endPause = this.desk.pause(delayMs, () => this.#create([]));
  }

  /** Whose node it is, and a watch on it. */
  #look(): void {
    if (this.over && !this.#doubt && this.#czxid === null) return this.#gone(null);
    const { session } = this.desk;
    let synced: RequestError | null = null;
    this.roundTrips++;
    session.batch(() => {
      // The server that is asked may lag behind the one that made the node.
      if (this.#doubt) {
        session.prove((outcome) => {
          if (!outcome.ok) synced = outcome.error;
        });
      }
      const watch = session.watchExists(this.#spec.path, {
        answered: (outcome) => {
          if (synced !== null) {
            watch.drop();
            return this.#lookFailed(synced);
          }
          if (!outcome.ok) return this.#lookFailed(outcome.error);
          this.#looked(watch, outcome.value);
        },
        fired: (type) => {
          if (this.over) return;
          this.#watch = null;
          if (type !== "deleted") return this.#look();
          this.listener.notified();
          this.#create([]);
        },
      });
      this.#watch = watch;
    });
  }

  #lookFailed(error: RequestError): void {
    this.#watch = null;
    if (!isFinal(error)) this.desk.again(error, () => this.#look());
    else this.fail(this.#failure(error));
  }

  #looked(watch: WatchHandle, found: Exists): void {
    const { path, lockName, mayWait } = this.#spec;
    if (found !== null && this.#isOurs(found.stat)) {
      watch.drop();
      this.#watch = null;
      return this.#ours(found.stat.czxid);
    }
    // Looked for behind a `sync`: it never was, or is gone again.
    this.#doubt = false;
    this.#czxid = null;
    if (this.over) {
      watch.drop();
      return this.#gone(null);
    }
    if (found === null) {
      watch.drop();
      this.#watch = null;
      return this.#create([]);
    }
    if (found.stat.ephemeralOwner === 0n) {
      return this.fail(
        new LayoutConflictError(
          `${lockName}: ${path} is there already and does not belong to a session, so it never goes and nobody would be granted; a naive mutex needs a path of its own`,
          { lockName, backend: "zookeeper" },
        ),
      );
    }
    this.#contended = true;
    if (mayWait) this.listener.waiting();
    else this.unavailable();
  }

  #isOurs({ czxid, ephemeralOwner }: { czxid: bigint; ephemeralOwner: bigint }): boolean {
    if (this.#czxid !== null) return czxid === this.#czxid;
    return (
      this.#doubt && ephemeralOwner === this.desk.session.id && !isClaimed(this.desk, this.#spec.path, czxid)
    );
  }

  #ours(czxid: bigint): void {
    const { path } = this.#spec;
    claim(this.desk, path, czxid);
    this.#doubt = false;
    this.#czxid = czxid;
    this.desk.nodes.add(path);
    if (this.over) return this.#deleteOwn(czxid);
    if (this.desk.leaseAhead) this.#grant(czxid);
    else this.desk.whenUsable(() => this.#look());
  }

  #grant(czxid: bigint): void {
    const { path, lockName, data, revocable } = this.#spec;
    this.drop();
    const hold = new Hold(this.desk, {
      lockName,
      data,
      nodes: [{ path, name: baseName(path), czxid }],
      watches: [],
      token: czxid,
      permitIds: [],
      grantedAtMs: this.settings.runtime.nowMs(),
      roundTrips: this.roundTripsBefore + this.roundTrips,
      contended: this.#contended,
      revocable,
      sharedNames: true,
    });
    // At once: our release must not be for a node that has taken the place of ours.
    hold.attend();
    this.listener.granted(hold);
  }

  #deleteOwn(czxid: bigint): void {
    const { path, lockName } = this.#spec;
    const { session, deletions } = this.desk;
    deletions.delete(
      path,
      (_outcome, error) => {
        this.#gone(error === null ? null : requestFailure(`deleting ${path}`, error, session, lockName));
      },
      czxid,
    );
  }

  #failure(error: RequestError): HoldfastError {
    const { path, lockName } = this.#spec;
    return requestFailure(`taking ${path}`, error, this.desk.session, lockName);
  }

  protected override fail(error: HoldfastError): void {
    if (this.over) return this.#gone(null);
    this.#doubt = false;
    super.fail(error);
  }

  #gone(refused: HoldfastError | null): void {
    const told = this.#withdrawn;
    this.#withdrawn = null;
    told?.(refused);
  }
}
