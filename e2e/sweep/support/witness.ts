import type { LockMode, LockProvider } from "@holdfast/core";
import type { EmbeddedZooKeeper, Fault } from "@holdfast/test-servers";
import { type Believer, exclude, permitsOf } from "./believers.js";
import { type ContenderNode, contenders } from "./contenders.js";
import type { DrivenClock } from "./driven-clock.js";

/**
 * Judges every grant by the nodes that the server has at that moment, which no client can see, and by what each client knows.
 *
 * An end by force is a session closed at the server or a node deleted by hand. For it no order is promised: the old holder may
 * believe to hold until the event arrives. Every other end, above all a time-out, must be known to the old holder first.
 */
export class Witness {
  readonly violations: string[] = [];
  grants = 0;
  /** How many of these grants a client has lent from a lock that it had kept. */
  lent = 0;
  /** The limits of semaphores, by name; 1 for those that are not here. */
  readonly limits: Map<string, number> = new Map();
  /** The number of nodes deleted by hand. */
  evictions = 0;
  readonly #server: EmbeddedZooKeeper;
  readonly #clock: DrivenClock;
  readonly #log: (line: string) => void;
  readonly #believers = new Map<string, Believer>();
  /** The last token and turn of each lock, in one number. The owners of one kept grant have rising turns. */
  readonly #lastRank = new Map<string, bigint>();
  readonly #forcedSessions = new Set<bigint>();
  readonly #forcedTokens = new Set<bigint>();
  /** Writes that ended by force: the path of their lock and their number in its queue. */
  readonly #forcedWrites = new Set<string>();
  /** Naive mutexes whose node was deleted by hand. */
  readonly #forcedNames = new Set<string>();
  /** Nodes that ended in one transaction with the node ahead of them. */
  readonly #ownHeirs = new Set<bigint>();
  /** Nodes whose session ended while its connection stayed open and mute: the client cannot know before its lease is over. */
  readonly #unheard = new Set<bigint>();
  readonly #expiries: { readonly fault: Fault; seen: number }[] = [];
  /** Grants of nodes that were already gone by force: the event comes right behind, or it came before and was ignored. */
  readonly #doubtful = new Set<Believer>();
  #excusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(server: EmbeddedZooKeeper, clock: DrivenClock, log: (line: string) => void) {
    this.#server = server;
    this.#clock = clock;
    this.#log = log;
  }

  watch(client: string, locks: Pick<LockProvider, "events" | "state">): void {
    locks.events.on("acquire-settled", (event) => {
      const { kind, name, owner, mode, outcome, token, turn, kept, contended, error } = event;
      const why = outcome === "error" ? ` (${String(error)})` : "";
      this.#log(`${client} ${name} ${mode} ${outcome}${token === null ? "" : ` ${token}`}${why}`);
      if (outcome !== "granted") return;
      const permits = permitsOf(event);
      const grant = { client, name, owner: owner.id, kind, mode, permits, token: token as bigint, turn };
      if (kept) this.lent += 1;
      this.#granted(grant, locks.state, contended);
    });
    locks.events.on("uncertain", (event) => {
      this.#log(`${client} ${event.name} uncertain`);
      const believer = this.#believers.get(keyOf(client, event));
      if (believer !== undefined) this.#doubtful.delete(believer);
    });
    for (const type of ["recovered", "released", "requeued", "release-failed"] as const) {
      locks.events.on(type, ({ name }) => this.#log(`${client} ${name} ${type}`));
    }
    locks.events.on("lost", (event) => {
      this.#log(`${client} ${event.name} lost: ${event.reason}`);
      this.#believers.delete(keyOf(client, event));
    });
    locks.events.on("session-state", ({ state }) => {
      this.#log(`${client} is ${state}`);
      if (state === "lost") this.#checkTold(client);
    });
    locks.events.on("request-settled", ({ op, outcome }) => this.#log(`${client} . ${op} ${outcome}`));
  }

  /** Call it before the last handle of a hold is released. */
  givesBack(client: string, handle: Held): void {
    this.#believers.delete(keyOf(client, handle));
  }

  /** Call it before a write is downgraded. From the moment that the read exists, other readers may join it. */
  downgrades(client: string, handle: Held): void {
    const believer = this.#believers.get(keyOf(client, handle));
    if (believer !== undefined) this.#believers.set(keyOf(client, handle), { ...believer, mode: "shared" });
  }

  /** Call it with the outcome of a release. */
  gaveBack(client: string, handle: Held, outcome: string): void {
    if (outcome !== "released") return;
    const nodes = contenders(this.#server, handle.name);
    if (ownNodeOf({ token: handle.token ?? -1n, mode: handle.mode ?? "shared" }, nodes) !== undefined) {
      this.violation(`${client} released ${handle.name} ${handle.token}, and its node is there`);
    }
  }

  /**
   * Registers a fault that ends sessions by force. Before it does, the nodes in the queues of `paths` are noted that have a node
   * of the same session right ahead. `silent`: nothing is sent to the client.
   */
  expects(fault: Fault, paths: readonly string[], silent: boolean): void {
    this.#expiries.push({ fault, seen: 0 });
    const happened = fault.happened.bind(fault);
    fault.happened = (hit) => {
      for (const path of paths) {
        const queue = contenders(this.#server, path);
        this.#noteHeirs(hit.session, queue);
        if (silent)
          for (const { session, token } of queue) if (session === hit.session) this.#unheard.add(token);
      }
      happened(hit);
    };
  }

  /** When a client reports that its session is lost, all its handles must be lost. */
  #checkTold(client: string): void {
    for (const { client: holder, name, token } of this.#believers.values()) {
      if (holder === client)
        this.violation(`${client} lost its session and believes to hold ${name} ${token}`);
    }
  }

  #noteHeirs(session: bigint, queue: readonly ContenderNode[]): void {
    for (const node of queue) {
      const ahead = queue.findLast((other) => standsInTheWay(other, node));
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
    if (node.path.includes(writeBase)) this.#forcedWrites.add(placeOf(node.path));
    if (node.role === "fixed") this.#forcedNames.add(node.path);
    this.excuseUntil(this.#clock.nowMs());
  }

  /** Until `atMs` held frames may still arrive, and may be about nodes that have ended since. */
  excuseUntil(atMs: number): void {
    this.#excusedUntilMs = Math.max(this.#excusedUntilMs, atMs);
  }

  violation(what: string): void {
    this.#log(`VIOLATION ${what}`);
    this.violations.push(what);
  }

  /** Call it whenever something may have happened, so that the time of each end by force is known. */
  look(): void {
    for (const expiry of this.#expiries) {
      for (const hit of expiry.fault.hits.slice(expiry.seen)) this.forcedSession(hit.session);
      expiry.seen = expiry.fault.hits.length;
    }
  }

  /** Call it when everything that was sent has been handled, before time moves on. */
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

  #granted(grant: Grant, state: string, contended: boolean): void {
    this.look();
    this.grants += 1;
    const { client, name, token } = grant;
    const nodes = contenders(this.#server, name);
    const own = ownNodeOf(grant, nodes);
    const believer: Believer = { ...grant, session: own?.session ?? null, node: own?.token ?? token };
    const who = `${client} was granted ${name} ${grant.mode} ${token}`;
    if (state !== "connected") this.violation(`${who} on a session that is ${state}`);
    if (own === undefined) this.#checkMissing(who, believer, contended);
    else this.#checkPlace(who, believer, own, nodes);
    for (const other of this.#believers.values()) {
      if (!exclude(believer, other)) continue;
      if (own !== undefined) this.#checkOther(who, other, nodes);
      else if (other.client === client)
        this.violation(`${who} by its own end, and holds with ${other.token}`);
    }
    // A read beside a write takes the place of the write here.
    if (grant.kind === "read-write-lock" && grant.mode === "shared") {
      this.#believers.delete(keyOf(client, { ...grant, mode: "exclusive" }));
    }
    this.#believers.set(keyOf(client, grant), believer);
  }

  /**
   * Only an end by force may be unknown to the client at the grant. A waiter watches its node, so its client must learn of the
   * end at once. Permits and the node of a naive mutex are made when their turn has come, and are watched from then on.
   */
  #checkMissing(who: string, believer: Believer, contended: boolean): void {
    if (this.#ownHeirs.has(believer.token)) this.violation(`${who} by the end of its own session`);
    if (this.#unheard.has(believer.token)) return;
    if (this.#clock.nowMs() > this.#excusedUntilMs) this.violation(`${who} without a node`);
    const waitedWithIt = !["semaphore", "semaphore-mutex", "naive-mutex"].includes(believer.kind);
    if (contended && waitedWithIt) this.#doubtful.add(believer);
  }

  /**
   * The node of a read that is being taken beside a write that was deleted by hand. It has the write's number. The client finds
   * that the write is gone, gives this node up as well and refuses its caller, so that no client holds by it. A read that was
   * granted before is a hold like any other.
   */
  #refusedBeside({ path, token }: ContenderNode): boolean {
    if (!path.includes(readBase) || !this.#forcedWrites.has(placeOf(path))) return false;
    return ![...this.#believers.values()].some(({ node }) => node === token);
  }

  #checkPlace(who: string, believer: Believer, own: ContenderNode, nodes: readonly ContenderNode[]): void {
    const ahead = nodes.filter((node) => standsInTheWay(node, own) && !this.#refusedBeside(node));
    if (ahead.length > 0) this.violation(`${who} behind ${ahead.map(({ path }) => path).join(", ")}`);
    if (own.role === "lease") this.#checkPermits(who, believer, nodes);
    // Shared grants have no rising tokens: a read beside a write has the write's token, and permits have no order.
    if (believer.mode === "shared") return;
    const last = this.#lastRank.get(believer.name) ?? -1n;
    const rank = (believer.token << 16n) + BigInt(believer.turn);
    if (rank <= last) this.violation(`${who} in turn ${believer.turn}, not above ${last}`);
    this.#lastRank.set(believer.name, rank);
  }

  /** Lease nodes that were made later are not counted, because a client that finds too many deletes its own. */
  #checkPermits(who: string, believer: Believer, nodes: readonly ContenderNode[]): void {
    const limit = believer.kind === "semaphore" ? (this.limits.get(believer.name) ?? 1) : 1;
    const taken = nodes.filter(({ role, token }) => role === "lease" && token <= believer.token).length;
    if (taken > limit) this.violation(`${who} as number ${taken} of ${limit}`);
    let held = believer.permits;
    for (const other of this.#believers.values()) {
      if (other.name === believer.name && !this.#isForced(other)) held += other.permits;
    }
    if (held > limit) this.violation(`${who}, and ${held} permits of ${limit} are believed to be held`);
  }

  #checkOther(who: string, other: Believer, nodes: readonly ContenderNode[]): void {
    const holds = `${other.client} believes to hold with ${other.token}`;
    if (nodes.some(({ token }) => token === other.node)) this.violation(`${who} while ${holds}, and does`);
    else if (!this.#isForced(other)) this.violation(`${who} while ${holds}, untold`);
  }

  #isForced(other: Believer): boolean {
    const { session, node } = other;
    if (session === null || this.#forcedSessions.has(session) || this.#forcedTokens.has(node)) return true;
    return this.#mayBeTakenForAnother(other);
  }

  /**
   * The docstring of `naiveMutex()` says it: until the holder whose node was deleted by hand learns of that, its own delete takes
   * the next holder's node, which has the same name.
   */
  #mayBeTakenForAnother({ kind, name }: Believer): boolean {
    return (
      kind === "naive-mutex" && this.#forcedNames.has(name) && this.#clock.nowMs() <= this.#excusedUntilMs
    );
  }
}

type Grant = Omit<Believer, "session" | "node">;

/** What identifies one side of a hold: a handle, or an event about it. */
interface Held {
  readonly name: string;
  readonly mode?: LockMode;
  readonly owner: { readonly id: string } | string;
  readonly token?: bigint | null;
}

function keyOf(client: string, { name, mode = "shared", owner }: Held): string {
  return `${client} ${name} ${mode} ${typeof owner === "string" ? owner : owner.id}`;
}

/** Finds the node of a grant. A read beside a write has the write's token: only the roles of the nodes differ. */
function ownNodeOf(
  grant: Pick<Grant, "token" | "mode">,
  nodes: readonly ContenderNode[],
): ContenderNode | undefined {
  const own = nodes.find(({ token }) => token === grant.token);
  if (own?.role !== "writer" || grant.mode === "exclusive") return own;
  return nodes.find(({ role, sequence }) => role === "reader" && sequence === own.sequence);
}

/**
 * Whether a node stands in the way by Curator's rules. A reader waits for the writers ahead, others for all nodes ahead.
 * Permits and a fixed node have no queue.
 */
function standsInTheWay(node: ContenderNode, own: ContenderNode): boolean {
  if (own.role === "lease" || own.role === "fixed") return false;
  if (own.role === "reader" && node.role !== "writer") return false;
  return node.sequence < own.sequence;
}

const readBase = "__READ__";
const writeBase = "__WRIT__";

function placeOf(path: string): string {
  const parent = path.slice(0, path.lastIndexOf("/"));
  return `${parent}/${path.slice(path.lastIndexOf("__") + 2)}`;
}
