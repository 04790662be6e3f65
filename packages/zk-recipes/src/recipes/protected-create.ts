import type { HoldfastError, RetryPolicy, Runtime } from "@holdfast/core";
import { type Acl, baseName, CreateFlags, errorCodes, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import type { LockPaths } from "../layout/lock-path.js";
import { protectionPrefix } from "../layout/protected-name.js";
import type { Outcome, RequestError } from "../session/types.js";
import { isPassing, requestFailure } from "./failures.js";
import { MissingParents } from "./missing-parents.js";
import type { OwnNode } from "./own-node-watch.js";
import type { SessionDesk } from "./session-desk.js";

export type Children = Outcome<{ children: string[] }>;

/** What all queue nodes of one provider are made with. */
export interface CreateSettings {
  readonly paths: LockPaths;
  readonly runtime: Runtime;
  readonly retry: RetryPolicy;
  /** May throw a `HoldfastError`, which is what the acquire then rejects with. */
  aclOf(path: string): readonly Acl[];
}

export interface CreateSpec {
  readonly lockName: string;
  /** The lock's path, parent of the node. */
  readonly parent: string;
  readonly base: string;
  readonly data: Uint8Array;
  /** Further parents, made along with `parent` where that is missing. */
  readonly siblings?: readonly string[];
  /** Sends reads of the caller's in the same write, behind the create and in front of the listing. */
  readonly readAlong?: () => void;
}

export interface CreateListener {
  /** The node is there; `listing` was read after it, on the same connection. */
  created(node: OwnNode, listing: Children): void;
  failed(error: HoldfastError): void;
}

/**
 * Makes one ephemeral-sequential queue node in Curator's protection mode and reads the queue behind it, in one write.
 *
 * A create whose answer was lost is looked for by its uuid, after a `sync`, before it is repeated: the server that is
 * asked may lag behind the one that made it. Missing parents are made as containers, only when the server says NoNode.
 * Nothing is told once the session is over; whoever goes on does so with a new uuid on a new session.
 */
export class ProtectedCreate {
  roundTrips = 0;
  readonly #desk: SessionDesk;
  readonly #settings: CreateSettings;
  readonly #spec: CreateSpec;
  readonly #listener: CreateListener;
  readonly #prefix: string;
  readonly #startedMs: number;
  #attempt = 0;
  #abandoned: (() => void) | null = null;
  #settled = false;
  /** A create may have been applied without our having heard. */
  #unknown = false;

  constructor(desk: SessionDesk, settings: CreateSettings, spec: CreateSpec, listener: CreateListener) {
    this.#desk = desk;
    this.#settings = settings;
    this.#spec = spec;
    this.#listener = listener;
    this.#prefix = protectionPrefix(settings.runtime.randomId());
    this.#startedMs = settings.runtime.nowMs();
  }

  start(): void {
    this.#create([]);
  }

  /** Gives up: tells the listener nothing more, and calls `gone` once no node of ours is left. */
  abandon(gone: () => void): void {
    if (this.#settled || this.#desk.over) return gone();
    const notOver = this.#desk.whenOver(gone);
    this.#abandoned = () => {
      notOver();
      gone();
    };
  }

  #create(missingLevels: readonly string[]): void {
    this.#desk.creating.enter(() => {
      if (this.#abandoned === null) return this.#send(missingLevels);
      this.#desk.creating.leave();
      this.#finishAbandoned();
    });
  }

  #send(missingLevels: readonly string[]): void {
    const { session } = this.#desk;
    const { parent, base, data } = this.#spec;
    const path = joinPath(parent, this.#prefix + base);
    let created: Outcome<OwnNode> | null = null;
    let parents: MissingParents;
    let acl: readonly Acl[];
    try {
      // Code of the caller's: it runs before anything is sent, and its mistakes are those of this one acquire.
      parents = new MissingParents(this.#settings, missingLevels);
      acl = this.#settings.aclOf(path);
    } catch (error) {
      this.#desk.creating.leave();
      return this.#fail(error as HoldfastError);
    }
    this.roundTrips++;
    session.batch(() => {
      parents.send(session);
      session.send("create2", { path, data, acl, flags: CreateFlags.ephemeralSequential }, (outcome) => {
        created = asNode(outcome);
        if (outcome.ok) this.#desk.nodes.add(outcome.value.path);
      });
      this.#spec.readAlong?.();
      session.send("getChildren2", { path: parent, watch: false }, (listing) => {
        this.#desk.creating.leave();
        this.#answered(created as Outcome<OwnNode>, listing, parents);
      });
    });
  }

  #answered(created: Outcome<OwnNode>, listing: Children, parents: MissingParents): void {
    if (created.ok) return this.#ready(created.value, listing);
    const { session } = this.#desk;
    const { parent, lockName } = this.#spec;
    const { error } = created;
    if (!(error instanceof ZooKeeperError)) return this.#unanswered(error);
    if (this.#abandoned !== null) return this.#finishAbandoned();
    if (error.code === errorCodes.NoNode) {
      if (parents.levels.length === 0) return this.#create(this.#levels());
      const refusal = parents.refusal(session, lockName);
      if (refusal !== null) return this.#fail(refusal);
    } else if (!isPassing(error)) {
      return this.#fail(requestFailure(`queueing on ${parent}`, error, session, lockName));
    }
    // A parent was reaped between two requests, or the server is too busy.
    this.#again(error);
  }

  #levels(): string[] {
    return [...this.#settings.paths.levelsOf(this.#spec.parent), ...(this.#spec.siblings ?? [])];
  }

  #again(error: Error): void {
    const { runtime, retry } = this.#settings;
    this.#attempt++;
    const failure = requestFailure(
      `queueing on ${this.#spec.parent} (${this.#attempt} tries)`,
      error,
      this.#desk.session,
      this.#spec.lockName,
    );
    const delayMs = retry.next(this.#attempt, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) return this.#fail(failure);
    runtime.setTimer(delayMs, () => this.#resume());
  }

  #unanswered(error: RequestError): void {
    if (error.name === "OutcomeUnknownError") this.#unknown = true;
    this.#desk.whenUsable(() => this.#resume());
  }

  #resume(): void {
    if (this.#unknown) this.#lookUp();
    else if (this.#abandoned !== null) this.#finishAbandoned();
    else if (this.#desk.session.state === "connected") this.#create([]);
    else this.#desk.whenUsable(() => this.#resume());
  }

  /** `sync`, then the children: if our create was applied, its node is among them. */
  #lookUp(): void {
    const { session } = this.#desk;
    this.roundTrips++;
    let synced: RequestError | null = null;
    session.batch(() => {
      session.prove((outcome) => {
        if (!outcome.ok) synced = outcome.error;
      });
      session.send("getChildren2", { path: this.#spec.parent, watch: false }, (listing) => {
        if (synced !== null) return this.#unanswered(synced);
        if (!listing.ok) {
          if (!(listing.error instanceof ZooKeeperError)) return this.#unanswered(listing.error);
          if (listing.error.code !== errorCodes.NoNode) return this.#again(listing.error);
        }
        const found = listing.ok
          ? listing.value.children.find((name) => name.startsWith(this.#prefix))
          : undefined;
        if (found !== undefined) return this.#adopt(joinPath(this.#spec.parent, found));
        this.#unknown = false;
        this.#resume();
      });
    });
  }

  /** Reads what the lost answer would have told, and the queue behind it. */
  #adopt(path: string): void {
    const { session } = this.#desk;
    this.#desk.nodes.add(path);
    if (this.#abandoned !== null) return this.#deleteAbandoned(path);
    let node: Outcome<OwnNode> | null = null;
    this.roundTrips++;
    session.batch(() => {
      session.send("exists", { path, watch: false }, (outcome) => {
        node = asNode(outcome.ok ? { ...outcome, value: { path, stat: outcome.value.stat } } : outcome);
      });
      session.send("getChildren2", { path: this.#spec.parent, watch: false }, (listing) => {
        const read = node as Outcome<OwnNode>;
        if (read.ok) return this.#ready(read.value, listing);
        if (!(read.error instanceof ZooKeeperError)) return this.#unanswered(read.error);
        if (read.error.code === errorCodes.NoNode) {
          // Deleted by somebody since the listing: as good as never made.
          this.#unknown = false;
          this.#desk.nodes.delete(path);
          return this.#again(read.error);
        }
        // The node is there: a second one would queue behind it for ever.
        if (isPassing(read.error)) return this.#again(read.error);
        const { lockName } = this.#spec;
        const failure = requestFailure(`reading ${path}`, read.error, session, lockName);
        this.#desk.deletions.delete(path, () => this.#fail(failure));
      });
    });
  }

  #ready(node: OwnNode, listing: Children): void {
    this.#unknown = false;
    if (this.#abandoned !== null) return this.#deleteAbandoned(node.path);
    this.#settled = true;
    this.#listener.created(node, listing);
  }

  #fail(error: HoldfastError): void {
    if (this.#abandoned !== null) return this.#finishAbandoned();
    this.#settled = true;
    this.#listener.failed(error);
  }

  #deleteAbandoned(path: string): void {
    this.#desk.deletions.delete(path, () => this.#finishAbandoned());
  }

  #finishAbandoned(): void {
    this.#settled = true;
    this.#abandoned?.();
  }
}

function asNode(outcome: Outcome<{ path: string; stat: { czxid: bigint } }>): Outcome<OwnNode> {
  if (!outcome.ok) return outcome;
  const { path, stat } = outcome.value;
  return { ...outcome, value: { path, name: baseName(path), czxid: stat.czxid } };
}
