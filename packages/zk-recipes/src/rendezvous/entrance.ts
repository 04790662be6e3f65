import { InvalidArgumentError, type Millis } from "@holdfast/core";
import { settledWithin, takenBack, type Watched } from "@holdfast/core/internal";
import {
  baseName,
  CreateFlags,
  encodeRequest,
  errorCodes,
  joinPath,
  type MultiOp,
  maxRequestBytes,
  multiFailure,
  type ResponseOf,
  type Stat,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { OwnNode } from "../recipes/grant/own-node-watch.js";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
} from "../recipes/requests/retrying-requests.js";
import { eviction, isFinal } from "../recipes/session/failures.js";
import type { SessionContext } from "../recipes/session-context.js";
import { saysNodeExists, saysNoNode } from "../session/errors.js";
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

/** What the transaction that begins a round may need besides its checks, in bytes. */
const spareBytes = 65_536;

/**
 * How long a member that gives up waits for the answer to the create of its node: long enough for a slow disk, and short
 * enough that a frozen server does not hold a caller whose time is over.
 */
const answeredWithinMs: Millis = 500;

/**
 * The way into a double barrier. Each look makes an entry if there is none of ours, and finds out whether the round is
 * full. The last member to come makes `ready`, which wakes the others.
 *
 * A round begins with all members that it needs. The transaction that makes `ready` checks that the node of each of them
 * is there and was never written. A member that gives up writes its own node first, and looks for `ready` behind that. If
 * it finds one that is newer than its node, the round has begun, and the member is in it. Otherwise no transaction that
 * counts it can be applied any more, and it deletes its node. `ready` itself is left alone: the members of released
 * versions of Curator pass at any event about it. The count is not checked where a member of Curator, or of an earlier
 * version of ours, makes `ready`.
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
  /** Members whose nodes are there but were written: they are giving up and do not count. */
  readonly #leaving = new Set<string>();
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
    this.#checkParties();
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
   * Gives the place up. `true` when that is too late: the round has begun with this member, whose node stays. Otherwise no
   * node is left behind. If the server answers, the node is gone when this resolves. If not, the node goes after the call
   * has ended: after the reconnect, or with the session.
   */
  async withdraw(): Promise<boolean> {
    this.#withdrawn = true;
    const context = this.#asked;
    if (context === null || context.over) return false;
    // Other members may have counted our node although the answer to its create has not come yet.
    if (this.#place === null)
      await settledWithin(this.#calls.runtime, this.#looking, answeredWithinMs, { ref: true });
    if (await this.#begun()) return true;
    const left = { key: this.#parent, name: this.#lockName };
    await takenBack(this.#calls.engine, left, this.#leaveNothing(context));
    return false;
  }

  /** Whether the round has begun with this member. Waits for the server's answer, but not through an outage. */
  async #begun(): Promise<boolean> {
    const place = this.#place;
    const session = place?.context.session;
    if (place === null || session?.state !== "connected") return false;
    let forget = (): void => {};
    const broken = new Promise<false>((resolve) => {
      forget = session.onState(() => resolve(false));
    });
    try {
      return await Promise.race([this.#marked(place), broken]);
    } catch {
      return false; // the provider is closed, or the server refuses for good
    } finally {
      forget();
    }
  }

  /** Writes our node, so that it does not count any more, and finds out whether it has counted before. */
  #marked({ context, node }: Place): Promise<boolean> {
    const call: CallInfo = { lockName: this.#lockName, path: node.path, patient: true };
    return this.#calls.repeat<boolean>(call, async (present) => {
      if (present !== context) return done(false);
      const { session } = context;
      const mark = outcomeOf(session, "setData", { path: node.path, data: this.#data, version: -1 });
      const look = outcomeOf(session, "exists", { path: joinPath(this.#parent, readyName), watch: false });
      const marked = await mark;
      const ready = orAbsent(await look);
      if (!marked.ok && saysNoNode(marked.error)) return done(false);
      // A server that never lets us write our own node still shows what has begun.
      if (!marked.ok && !isFinal(marked.error)) return marked;
      return ready.ok ? done(ready.value !== null && node.czxid < ready.value.stat.czxid) : ready;
    });
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
    const { ready } = look;
    if (ready !== null && node.czxid < ready.czxid) return true;
    const others = look.members.filter((name) => name !== node.name);
    const counted = [node.name, ...others].filter((name) => !this.#leaving.has(name)).slice(0, this.#parties);
    const full = counted.length === this.#parties;
    if (!full && ready === null) return false;
    // A `ready` that is older than our node: of a round that goes on, or of a round that crashed.
    const goesOn =
      ready !== null &&
      (await this.#calls.repeat(call, ({ session }) => anyOlder(session, this.#parent, others, ready)));
    // Our node has gone with its session. The end of the session triggers the next look, which makes another node.
    if (context.over) return false;
    if (goesOn) return true;
    if (!full || this.#withdrawn) return false;
    return await this.#makeReady(call, context, counted, ready !== null);
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
   * Makes `ready`, or replaces it in the same step, so that a member that watches finds either the old one or the new one.
   * The server refuses where a member of `counted` is gone or gives up. `false` then, when the session of `context` is
   * over, when the call was given up, or when another client has replaced `ready` meanwhile. The present state is then
   * read again.
   */
  async #makeReady(
    call: CallInfo,
    context: SessionContext,
    counted: readonly string[],
    replacing: boolean,
  ): Promise<boolean> {
    const path = joinPath(this.#parent, readyName);
    const acl = this.#calls.settings.aclOf(path);
    const ops: MultiOp[] = counted.map((name) => checkOf(joinPath(this.#parent, name)));
    if (replacing) ops.push({ op: "delete", request: { path, version: -1 } });
    ops.push({ op: "create", request: { path, data: this.#data, acl, flags: CreateFlags.persistent } });
    const made = await this.#calls.repeat<boolean>({ ...call, patient: true }, async (present) => {
      if (present !== context || this.#withdrawn) return done(false);
      const answer = await outcomeOf(context.session, "multi", { ops });
      if (!answer.ok) return answer;
      const failure = multiFailure(answer.value);
      // Another member has made `ready` since our look, or we have, by a request whose answer was lost.
      if (failure === undefined || failure.code === errorCodes.NodeExists) return done(true);
      const { request } = ops[failure.index] as MultiOp;
      if (failure.code === errorCodes.BadVersion) this.#leaving.add(baseName(request.path));
      if (isCondition(failure.code)) return done(false);
      return { ok: false, error: new ZooKeeperError(failure.code, { op: "multi", path: request.path }) };
    });
    if (!made) this.#changed();
    return made;
  }

  /** Throws for a round that is too large: one transaction, whose size the server limits, checks all its members. */
  #checkParties(): void {
    const empty = encodeRequest("multi", { ops: [] }).length;
    const each = encodeRequest("multi", { ops: [checkOf(this.#path)] }).length - empty;
    const most = Math.floor((maxRequestBytes - spareBytes) / each);
    if (this.#parties <= most) return;
    throw new InvalidArgumentError(
      `${this.#lockName}: parties = ${this.#parties} do not fit into one transaction of ZooKeeper, which takes ${maxRequestBytes} bytes and checks all members of a round: ask for ${most} at most`,
      { lockName: this.#lockName, backend: "zookeeper" },
    );
  }
}

/** Checks that the node is there, and was not written since it was made. */
function checkOf(path: string): MultiOp {
  return { op: "check", request: { path, version: 0 } };
}

function done<T>(value: T): Outcome<T> {
  return { ok: true, value, zxid: 0n };
}
