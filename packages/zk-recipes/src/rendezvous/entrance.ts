import { takenBack, type Watched } from "@holdfast/core/internal";
import {
  CreateFlags,
  errorCodes,
  joinPath,
  type MultiOp,
  multiFailure,
  type ResponseOf,
  type Stat,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { OwnNode } from "../recipes/grant/own-node-watch.js";
import { type CallInfo, outcomeOf, type RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { eviction } from "../recipes/session/failures.js";
import type { SessionContext } from "../recipes/session-context.js";
import { saysNodeExists } from "../session/errors.js";
import type { Outcome, WatchHandle } from "../session/types.js";
import { isCondition } from "../values/conditional-write.js";
import { anyOlder, membersOf, readyName } from "./round-nodes.js";

/** A node of ours and the session that owns it. */
export interface Place {
  readonly parent: string;
  readonly node: OwnNode;
  readonly context: SessionContext;
}

type Listing = Outcome<ResponseOf<"getChildren2">>;
type Ready = Outcome<ResponseOf<"exists"> | null>;

/** The result of one look at the round. */
interface Look {
  readonly ready: Stat | null;
  readonly members: readonly string[];
}

/**
 * The way into a double barrier. Each look makes an entry if there is none of ours, and finds out whether the round is
 * full. The last member to come makes `ready`, which wakes the others.
 */
export class Entrance implements Watched<boolean> {
  readonly #calls: RetryingRequests;
  readonly #parties: number;
  readonly #data: Uint8Array;
  readonly #parent: string;
  readonly #lockName: string;
  /** One id for all sessions. So a node of a session that is ending is never counted beside the node of its successor. */
  readonly #id: string;
  #changed: () => void = () => {};
  #place: Place | null = null;
  /** The session that may have a node of ours. */
  #asked: SessionContext | null = null;
  #readyWatch: WatchHandle | null = null;
  #notOver: () => void = () => {};
  #opening: Promise<boolean> | null = null;
  /** The last look, under way or answered. */
  #looking: Promise<unknown> = Promise.resolve();
  #withdrawn = false;

  constructor(calls: RetryingRequests, name: string, parties: number, data: Uint8Array) {
    this.#calls = calls;
    this.#lockName = name;
    this.#parties = parties;
    this.#data = data;
    this.#parent = calls.pathOf(name);
    this.#id = calls.runtime.randomId();
  }

  get answered(): boolean {
    return this.#place !== null;
  }

  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    return () => {
      this.#notOver();
      this.#readyWatch?.remove();
      this.#readyWatch = null;
    };
  }

  /** Our node and its session, once the round is full. */
  place(): Place {
    if (this.#place === null) throw new Error("there is no place before the round is full");
    return this.#place;
  }

  /**
   * Whether this member saw that the round is full, and made `ready` for the others. If the create was sent, this waits
   * for its answer, but not through an outage. If it was not sent yet, it is not sent any more.
   */
  async opened(): Promise<boolean> {
    this.#withdrawn = true;
    if (this.#opening === null) return false;
    const { session } = this.place().context;
    let forget = (): void => {};
    const broken = new Promise<false>((resolve) => {
      if (session.state === "connected") forget = session.onState(() => resolve(false));
      else resolve(false);
    });
    try {
      return await Promise.race([this.#opening, broken]);
    } catch {
      return false; // the create failed for good, and `enter` then rejects
    } finally {
      forget();
    }
  }

  /**
   * Leaves no node behind. If the server answers, the node is gone when this resolves. Otherwise the node goes after the
   * call has ended: after the reconnect, or with the session.
   */
  async withdraw(): Promise<void> {
    this.#withdrawn = true;
    const context = this.#asked;
    if (context === null || context.over) return;
    await takenBack(this.#calls.engine, this.#parent, this.#leaveNothing(context));
  }

  /**
   * Deletes the node, after the look under way has ended. The second flight of that look, with the missing parents, could
   * make the node after an earlier delete.
   */
  async #leaveNothing(context: SessionContext): Promise<void> {
    await Promise.allSettled([this.#looking]);
    await new Promise<void>((resolve) => context.deletions.delete(this.#path, () => resolve()));
  }

  async read(): Promise<boolean> {
    const call: CallInfo = {
      lockName: this.#lockName,
      path: this.#parent,
      patient: this.#place !== null,
    };
    const look = await this.#calls.repeat(call, (context) => {
      const looking = this.#look(context, call);
      this.#looking = looking;
      return looking;
    });
    if (look === null || this.#withdrawn || this.#place === null) return false;
    const { context, node } = this.place();
    const full = look.members.length >= this.#parties;
    const { ready } = look;
    if (ready !== null && node.czxid < ready.czxid) return true;
    if (!full && ready === null) return false;
    // A `ready` that is older than our node: of a round that goes on, or of a round that crashed.
    const others = look.members.filter((name) => name !== node.name);
    const goesOn =
      ready !== null &&
      (await this.#calls.repeat(call, ({ session }) => anyOlder(session, this.#parent, others, ready)));
    // Our node has gone with its session. The end of the session triggers the next look, which makes another node.
    if (context.over) return false;
    if (goesOn) return true;
    if (!full || this.#withdrawn) return false;
    this.#opening = this.#makeReady(call, context, ready !== null);
    const opened = await this.#opening;
    if (!opened) this.#opening = null;
    return opened;
  }

  get #path(): string {
    return joinPath(this.#parent, this.#id);
  }

  /** One look. `null` while a node of ours is in the way: its session has ended here, but not at the server. */
  async #look(context: SessionContext, call: CallInfo): Promise<Outcome<Look | null>> {
    if (this.#withdrawn) return done(null);
    if (this.#place !== null && this.#place.context !== context) this.#place = null;
    const asked = this.#ask(context);
    let created: Outcome<unknown> | null = null;
    if (this.#place === null) {
      this.#asked = context;
      const node = { path: this.#path, data: this.#data, ephemeral: true };
      const made = await this.#calls.create(context, call, node, () => asked.send());
      created = made;
      if (made.ok) this.#entered(context, made.value.stat);
      else if (!saysNodeExists(made.error)) return made;
    } else {
      asked.send();
    }
    const [ready, listing] = await asked.answers();
    if (!ready.ok) return ready;
    if (!listing.ok) return listing;
    if (created !== null && !created.ok) {
      const taken = await this.#adopt(context);
      if (!taken.ok || !taken.value) return taken.ok ? done(null) : taken;
    }
    const members = membersOf(listing.value.children);
    if (!members.includes(this.#id)) throw eviction(this.#lockName, this.#path);
    return done({ ready: ready.value?.stat ?? null, members });
  }

  /** The reads of a look: the watch on `ready`, and the children behind it. A create is sent in front of both. */
  #ask(context: SessionContext): { send(): void; answers(): Promise<[Ready, Listing]> } {
    const { session } = context;
    let answers: Promise<[Ready, Listing]> | null = null;
    return {
      send: () => {
        const ready = new Promise<Ready>((resolve) => this.#watchReady(context, resolve));
        const listing = outcomeOf(session, "getChildren2", { path: this.#parent, watch: false });
        answers = Promise.all([ready, listing]);
      },
      answers: () => answers as Promise<[Ready, Listing]>,
    };
  }

  #watchReady(context: SessionContext, answered: (ready: Ready) => void): void {
    this.#notOver();
    this.#readyWatch?.drop();
    const handle = context.session.watchExists(joinPath(this.#parent, readyName), {
      answered,
      fired: () => {
        if (this.#readyWatch === handle) this.#readyWatch = null;
        this.#changed();
      },
    });
    // The call was given up while the create of the missing parents was on its way.
    if (this.#withdrawn) return handle.remove();
    this.#readyWatch = handle;
    this.#notOver = context.whenOver(() => this.#changed());
  }

  #entered(context: SessionContext, stat: Stat): void {
    this.#place = {
      parent: this.#parent,
      context,
      node: { path: this.#path, name: this.#id, czxid: stat.czxid },
    };
  }

  /**
   * The node is there already. Either it is ours, by a create whose answer was lost, or it belongs to our last session,
   * whose end we wait for.
   */
  #adopt(context: SessionContext): Promise<Outcome<boolean>> {
    return new Promise((resolve) => {
      context.session.watchData(this.#path, {
        answered: (outcome) => {
          if (outcome.ok) {
            const { stat } = outcome.value;
            const ours = stat.ephemeralOwner === context.session.id;
            if (ours) this.#entered(context, stat);
            return resolve({ ...outcome, value: ours });
          }
          const { error } = outcome;
          if (!(error instanceof ZooKeeperError) || error.code !== errorCodes.NoNode) return resolve(outcome);
          this.#changed();
          resolve(done(false));
        },
        fired: () => this.#changed(),
      });
    });
  }

  /**
   * Makes `ready`, only over the session of `context`: our node goes with that session, and without it the round is not
   * full. `false` when that session is over, when the call was given up, or when another client has replaced `ready`
   * meanwhile. The present state is then read again.
   */
  async #makeReady(call: CallInfo, context: SessionContext, replacing: boolean): Promise<boolean> {
    const path = joinPath(this.#parent, readyName);
    const made = await this.#calls.repeat<boolean>({ ...call, patient: true }, async (present) => {
      if (present !== context || this.#withdrawn) return done(false);
      if (replacing) return await this.#replaceReady(context, path);
      const created = await this.#calls.create(context, call, { path, data: this.#data, ephemeral: false });
      return created.ok || saysNodeExists(created.error) ? done(true) : created;
    });
    if (!made) this.#changed();
    return made;
  }

  /** Replaces `ready` in one step, so that a member that watches finds either the old one or the new one. */
  async #replaceReady({ session }: SessionContext, path: string): Promise<Outcome<boolean>> {
    const ops: MultiOp[] = [
      { op: "delete", request: { path, version: -1 } },
      {
        op: "create",
        request: {
          path,
          data: this.#data,
          acl: this.#calls.settings.aclOf(path),
          flags: CreateFlags.persistent,
        },
      },
    ];
    const replaced = await outcomeOf(session, "multi", { ops });
    if (!replaced.ok) return replaced;
    const failure = multiFailure(replaced.value);
    if (failure === undefined || isCondition(failure.code)) return done(failure === undefined);
    return { ok: false, error: new ZooKeeperError(failure.code, { op: "multi", path }) };
  }
}

function done<T>(value: T): Outcome<T> {
  return { ok: true, value, zxid: 0n };
}
