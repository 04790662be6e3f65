import type { LockHandle, LockProvider } from "@holdfast/core";
import type { EmbeddedZooKeeper, Fault } from "@holdfast/test-servers";
import { type ContenderNode, contenders } from "./contenders.js";
import type { DrivenClock } from "./driven-clock.js";

interface Believer {
  readonly client: string;
  readonly name: string;
  readonly owner: string;
  readonly token: bigint;
  /** `null` when the node was gone already, which only a session ended by force excuses. */
  readonly session: bigint | null;
}

/**
 * Judges every grant by what the server has in that very moment, which no client can see, and by who has been told what.
 *
 * What is ended by force (a session closed at the server, a node deleted by hand) has no order against what a client hears:
 * its holder may believe until the news is there. Everything else, time-outs above all, must be known to the old holder first.
 */
export class Witness {
  readonly violations: string[] = [];
  grants = 0;
  /** Nodes deleted by hand. */
  evictions = 0;
  readonly #server: EmbeddedZooKeeper;
  readonly #clock: DrivenClock;
  readonly #log: (line: string) => void;
  readonly #believers = new Map<string, Believer>();
  readonly #lastToken = new Map<string, bigint>();
  readonly #forcedSessions = new Set<bigint>();
  readonly #forcedTokens = new Set<bigint>();
  /** Nodes that ended in one transaction with the node ahead of them. */
  readonly #ownHeirs = new Set<bigint>();
  readonly #expiries: { readonly fault: Fault; seen: number }[] = [];
  /** Granted what was gone by force already: the news is right behind, or came before and was not heeded. */
  readonly #doubtful = new Set<Believer>();
  #excusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(server: EmbeddedZooKeeper, clock: DrivenClock, log: (line: string) => void) {
    this.#server = server;
    this.#clock = clock;
    this.#log = log;
  }

  watch(client: string, locks: LockProvider): void {
    locks.events.on("acquire-settled", ({ name, owner, outcome, token, contended, error }) => {
      const why = outcome === "error" ? ` (${String(error)})` : "";
      this.#log(`${client} ${name} ${outcome}${token === null ? "" : ` ${token}`}${why}`);
      if (outcome !== "granted") return;
      const grant = { client, name, owner: owner.id, token: token as bigint };
      this.#granted(grant, locks.state, contended);
    });
    locks.events.on("uncertain", ({ name, owner }) => {
      this.#log(`${client} ${name} uncertain`);
      const believer = this.#believers.get(keyOf(client, name, owner.id));
      if (believer !== undefined) this.#doubtful.delete(believer);
    });
    for (const type of ["recovered", "released", "requeued", "release-failed"] as const) {
      locks.events.on(type, ({ name }) => this.#log(`${client} ${name} ${type}`));
    }
    locks.events.on("lost", ({ name, owner, reason }) => {
      this.#log(`${client} ${name} lost: ${reason}`);
      this.#believers.delete(keyOf(client, name, owner.id));
    });
    locks.events.on("session-state", ({ state }) => {
      this.#log(`${client} is ${state}`);
      if (state === "lost") this.#checkTold(client);
    });
    locks.events.on("request-settled", ({ op, outcome }) => this.#log(`${client} . ${op} ${outcome}`));
  }

  /** To be called before the last handle of a hold is given back. */
  givesBack(client: string, handle: LockHandle): void {
    this.#believers.delete(keyOf(client, handle.name, handle.owner.id));
  }

  /** To be called with what a release said. */
  gaveBack(client: string, handle: LockHandle, outcome: string): void {
    if (outcome !== "released") return;
    if (contenders(this.#server, handle.name).some(({ token }) => token === handle.token)) {
      this.violation(`${client} released ${handle.name} ${handle.token}, and its node is there`);
    }
  }

  /** This rule ends sessions by force. Whose turn in the queues of `paths` that would be is noted before it does. */
  expects(fault: Fault, paths: readonly string[]): void {
    this.#expiries.push({ fault, seen: 0 });
    const happened = fault.happened.bind(fault);
    fault.happened = (hit) => {
      for (const path of paths) this.#noteHeirs(hit.session, contenders(this.#server, path));
      happened(hit);
    };
  }

  /** Whoever hears of the end of the session finds its handles told. */
  #checkTold(client: string): void {
    for (const { client: holder, name, token } of this.#believers.values()) {
      if (holder === client)
        this.violation(`${client} lost its session and believes to hold ${name} ${token}`);
    }
  }

  #noteHeirs(session: bigint, queue: readonly ContenderNode[]): void {
    for (const [place, node] of queue.entries()) {
      const ahead = queue[place - 1];
      if (node.session === session && ahead?.session === session) this.#ownHeirs.add(node.token);
    }
  }

  forcedSession(session: bigint): void {
    this.#forcedSessions.add(session);
    this.excuseUntil(this.#clock.nowMs());
  }

  forcedNode(node: ContenderNode): void {
    this.evictions += 1;
    this.#forcedTokens.add(node.token);
    this.excuseUntil(this.#clock.nowMs());
  }

  /** Frames that were held back come out until then, and may be about what has ended since. */
  excuseUntil(atMs: number): void {
    this.#excusedUntilMs = Math.max(this.#excusedUntilMs, atMs);
  }

  violation(what: string): void {
    this.#log(`VIOLATION ${what}`);
    this.violations.push(what);
  }

  /** To be called whenever something may have happened, so that the moment of an end is known. */
  look(): void {
    for (const expiry of this.#expiries) {
      for (const hit of expiry.fault.hits.slice(expiry.seen)) this.forcedSession(hit.session);
      expiry.seen = expiry.fault.hits.length;
    }
  }

  /** To be called when all that was sent has been handled, before time moves on. */
  allIsHeard(): void {
    for (const believer of this.#doubtful) {
      if (this.#clock.nowMs() < this.#excusedUntilMs) continue;
      this.#doubtful.delete(believer);
      if ([...this.#believers.values()].includes(believer)) {
        const { client, name, token } = believer;
        this.violation(`${client} was granted ${name} ${token} after the news that its node is gone`);
      }
    }
  }

  #granted(grant: Omit<Believer, "session">, state: string, contended: boolean): void {
    this.look();
    this.grants += 1;
    const { client, name, owner, token } = grant;
    const queue = contenders(this.#server, name);
    const own = queue.find((node) => node.token === token);
    const believer: Believer = { ...grant, session: own?.session ?? null };
    const who = `${client} was granted ${name} ${token}`;
    if (state !== "connected") this.violation(`${who} on a session that is ${state}`);
    if (own === undefined) this.#checkMissing(who, believer, contended);
    else this.#checkPlace(who, own, queue);
    for (const other of this.#believers.values()) {
      if (other.name !== name) continue;
      if (own !== undefined) this.#checkOther(who, other, queue);
      else if (other.client === client)
        this.violation(`${who} by its own end, and holds with ${other.token}`);
    }
    this.#believers.set(keyOf(client, name, owner), believer);
  }

  /** Only an end by force can be news to its client. A waiter watches its node, so it must hear at once. */
  #checkMissing(who: string, believer: Believer, contended: boolean): void {
    if (this.#clock.nowMs() > this.#excusedUntilMs) this.violation(`${who} without a node`);
    if (this.#ownHeirs.has(believer.token)) this.violation(`${who} by the end of its own session`);
    if (contended) this.#doubtful.add(believer);
  }

  #checkPlace(who: string, own: ContenderNode, queue: readonly ContenderNode[]): void {
    const ahead = queue.filter(({ sequence }) => sequence < own.sequence);
    if (ahead.length > 0) this.violation(`${who} behind ${ahead.map(({ path }) => path).join(", ")}`);
    const lock = own.path.slice(0, own.path.lastIndexOf("/"));
    const last = this.#lastToken.get(lock) ?? -1n;
    if (own.token <= last) this.violation(`${who}, not above ${last}`);
    this.#lastToken.set(lock, own.token);
  }

  #checkOther(who: string, other: Believer, queue: readonly ContenderNode[]): void {
    const holds = `${other.client} believes to hold with ${other.token}`;
    if (queue.some(({ token }) => token === other.token)) this.violation(`${who} while ${holds}, and does`);
    else if (other.session === null || this.#forcedSessions.has(other.session)) return;
    else if (!this.#forcedTokens.has(other.token)) this.violation(`${who} while ${holds}, untold`);
  }
}

function keyOf(client: string, name: string, owner: string): string {
  return `${client} ${name} ${owner}`;
}
