import { LockLostError, type LossReason } from "@holdfast/core";
import { awaitValue, type BarrierEntry, type WaitBounds, type Watched } from "@holdfast/core/internal";
import { joinPath } from "@holdfast/zk-protocol";
import { OwnNodeWatch } from "../recipes/grant/own-node-watch.js";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
} from "../recipes/requests/retrying-requests.js";
import { isFinal, requestFailure } from "../recipes/session/failures.js";
import type { Outcome, WatchHandle } from "../session/types.js";
import type { Place } from "./entrance.js";
import { membersOf, readyName } from "./round-nodes.js";

/**
 * A member that has passed the barrier. It leaves in Curator's order, so that Java clients and ours leave together. The
 * first member by name stays until all others have gone. The others delete their nodes at once and wait for the first. A
 * member waits for the members that were there when it left. Unlike in Curator, it does not wait for members of a next
 * round that has begun meanwhile.
 */
export class ZooKeeperBarrierEntry implements BarrierEntry, Watched<boolean> {
  answered = false;
  #lost: LossReason | null = null;
  readonly #calls: RetryingRequests;
  readonly #lockName: string;
  readonly #place: Place;
  readonly #ownWatch: OwnNodeWatch;
  readonly #notOver: () => void;
  #listener: (reason: LossReason) => void = () => {};
  /** The members that were there when our node was deleted; `null` before that. */
  #others: ReadonlySet<string> | null = null;
  /** Resolves once our node is deleted, and `ready` too if we were the last member. */
  #deletion: Promise<unknown> = Promise.resolve();
  #changed: () => void = () => {};
  /** The number of calls of `leave()` that have ended. Requests of an ended call are of no use any more. */
  #ended = 0;
  #watch: WatchHandle | null = null;
  #stopWatching: () => void = () => {};

  constructor(calls: RetryingRequests, lockName: string, place: Place) {
    this.#calls = calls;
    this.#lockName = lockName;
    this.#place = place;
    const gone = (): void => this.#lose("stolen");
    this.#ownWatch = new OwnNodeWatch(place.context, place.node, { gone });
    const { context } = place;
    this.#notOver = context.whenOver(() => this.#lose(endOf(context.session)));
  }

  /** Looks at the session too: where very many wait for its end, the call that reports it comes in a later turn. */
  get lost(): LossReason | null {
    const { context } = this.#place;
    if (context.over) this.#lose(endOf(context.session));
    return this.#lost;
  }

  onLost(listener: (reason: LossReason) => void): void {
    const { lost } = this;
    if (lost === null) this.#listener = listener;
    else listener(lost);
  }

  watch(): void {
    if (this.lost === null && this.#others === null) this.#ownWatch.arm();
  }

  async leave(bounds: WaitBounds): Promise<void> {
    await awaitValue(this.#calls.engine, bounds, this, (left) => left);
  }

  async giveUp(): Promise<void> {
    if (this.lost !== null || this.#others !== null) return;
    this.#settle(new Set());
    await this.#deleteOwn();
  }

  // ---- leaving: one look after the other

  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    this.answered = false;
    return () => {
      this.#ended++;
      this.#stopWatching();
      this.#watch?.remove();
      this.#watch = null;
    };
  }

  async read(): Promise<boolean> {
    const call: CallInfo = { lockName: this.#lockName, path: this.#place.parent, patient: true };
    const ended = this.#ended;
    const over = (): boolean => this.#ended !== ended;
    for (;;) {
      this.#checkThere();
      const listing = await this.#calls.repeat(call, async ({ session }) =>
        orAbsent(await outcomeOf(session, "getChildren2", { path: call.path, watch: false })),
      );
      // The call was given up, for example in an outage. The member stays until it leaves by another call.
      if (over()) return false;
      this.answered = true;
      const members = membersOf(listing?.children ?? []);
      const awaited = this.#others === null ? this.#step(members) : this.#remaining(members);
      if (awaited === null) {
        await this.#deletion;
        return true;
      }
      if (await this.#watchNode(call, awaited, over)) return false;
      // The node went between the listing and the watch: the next listing shows which members are left.
    }
  }

  /**
   * One step while our node is there. Returns the member to wait for, or `null` for none. All but the first member delete
   * their node here.
   */
  #step(members: readonly string[]): string | null {
    // The members may have been listed over the next session.
    this.#checkThere();
    const own = this.#place.node.name;
    if (!members.includes(own)) {
      this.#lose("stolen");
      this.#checkThere();
    }
    const [lowest] = members;
    if (members.length > 1 && lowest === own) return members.at(-1) as string;
    this.#settle(new Set(members.filter((name) => name !== own)));
    // In one write, so that no other member can come between the two deletes.
    const last = members.length === 1;
    this.#deletion = Promise.all([this.#deleteOwn(), last ? this.#deleteReady() : null]);
    // A refusal of the deletes comes out where `#deletion` is awaited.
    this.#deletion.catch(() => {});
    return members.length > 1 ? (lowest as string) : null;
  }

  #remaining(members: readonly string[]): string | null {
    return members.find((name) => this.#others?.has(name) === true) ?? null;
  }

  /** Watches the node of a member. `false` when the node is not there: a new listing then shows which members are left. */
  async #watchNode(call: CallInfo, name: string, over: () => boolean): Promise<boolean> {
    const path = joinPath(call.path, name);
    const found = await this.#calls.repeat(
      call,
      (context) =>
        new Promise<Outcome<unknown>>((resolve) => {
          if (over()) return resolve({ ok: true, value: null, zxid: 0n });
          this.#stopWatching();
          this.#watch?.drop();
          const handle = context.session.watchData(path, {
            answered: (outcome) => {
              if (!outcome.ok && this.#watch === handle) this.#watch = null;
              resolve(orAbsent<unknown>(outcome));
            },
            fired: () => {
              if (this.#watch === handle) this.#watch = null;
              this.#changed();
            },
          });
          this.#watch = handle;
          this.#stopWatching = context.whenOver(() => this.#changed());
        }),
    );
    await this.#deletion;
    return found !== null || over();
  }

  /**
   * Deletes `ready`: sent once, and by the last member alone. The server cannot distinguish the `ready` of one round from
   * that of the next, so a late delete would keep members of the next round from starting. If the delete fails, the next
   * full round replaces the `ready` that is left.
   */
  async #deleteReady(): Promise<void> {
    const { context, parent } = this.#place;
    const path = joinPath(parent, readyName);
    const gone = orAbsent(await outcomeOf(context.session, "delete", { path, version: -1 }));
    if (!gone.ok && isFinal(gone.error))
      throw requestFailure(`deleting ${path}`, gone.error, context.session, this.#lockName);
  }

  #deleteOwn(): Promise<void> {
    const { context, node } = this.#place;
    return new Promise((resolve, reject) => {
      context.deletions.delete(node.path, (_outcome, error) => {
        if (error === null) resolve();
        else reject(requestFailure(`deleting ${node.path}`, error, context.session, this.#lockName));
      });
    });
  }

  /** From here on the end of our node is our own doing. */
  #settle(others: ReadonlySet<string>): void {
    this.#others = others;
    this.#ownWatch.stop();
    this.#notOver();
  }

  #lose(reason: LossReason): void {
    if (this.#lost !== null || this.#others !== null) return;
    this.#lost = reason;
    this.#ownWatch.stop();
    this.#notOver();
    this.#changed();
    this.#listener(reason);
  }

  /** Throws if the entry was lost before it left. */
  #checkThere(): void {
    const reason = this.lost;
    if (reason === null) return;
    throw new LockLostError(`${this.#lockName}: the member's node is gone`, {
      reason,
      token: null,
      lockName: this.#lockName,
      backend: "zookeeper",
    });
  }
}

function endOf(session: { readonly state: string; readonly lossReason: string | null }): LossReason {
  if (session.state === "closed") return "provider-closed";
  return session.lossReason === "lease" ? "lease-expired" : "session-expired";
}
