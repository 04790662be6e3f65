import type { HoldfastError, Millis } from "@holdfast/core";
import { CreateFlags, type CreateRequest, errorCodes, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { protectionPrefix } from "../layout/protected-name.js";
import type { Outcome, RequestError } from "../session/types.js";
import type { CreateSettings } from "./create-settings.js";
import { isPassing, requestFailure } from "./failures.js";
import { MissingParents } from "./missing-parents.js";
import { type Listings, listAll, NodeSearch, type OwnNodes, parentsOf } from "./node-search.js";
import type { SessionDesk } from "./session-desk.js";

/** One of the nodes; `lockName` is for messages. */
export interface NodePart {
  readonly lockName: string;
  /** Parent of the node. */
  readonly parent: string;
  readonly base: string;
  readonly data: Uint8Array;
}

/** What goes with the creates, and how they leave. */
export interface NodesPlan {
  /** At least one, all or none of which are made. */
  readonly parts: readonly [NodePart, ...NodePart[]];
  /** Further parents, made along with those of the parts where one is missing. */
  readonly siblings?: readonly string[];
  /** Sends reads of the caller's in the same write, behind the creates and in front of the listings. */
  readonly readAlong?: () => void;
  /** In the batch of the caller. A create that was refused comes as an error of the server's with the parent as its path. */
  send(
    desk: SessionDesk,
    requests: readonly [CreateRequest, ...CreateRequest[]],
    answered: (made: Outcome<OwnNodes>) => void,
  ): void;
}

export interface NodesListener {
  /** All are there, in the order of the parts. Each parent was listed after that, on the same connection. */
  created(nodes: OwnNodes, listings: Listings): void;
  /** None is there. */
  failed(error: HoldfastError): void;
}

/**
 * Makes ephemeral-sequential nodes in Curator's protection mode, and lists their parents behind them in the same write.
 *
 * Creates whose answer was lost are looked for by the nodes' uuids before they are repeated. Missing parents are made as
 * containers, only when the server says NoNode. Nothing is told once the session is over; whoever goes on does so with
 * new uuids on a new session.
 */
export class ProtectedNodes {
  readonly #desk: SessionDesk;
  readonly #settings: CreateSettings;
  readonly #plan: NodesPlan;
  readonly #parents: readonly string[];
  readonly #listener: NodesListener;
  /** Of each part, its node's path up to the base. */
  readonly #prefixes: readonly string[];
  readonly #search: NodeSearch;
  readonly #startedMs: Millis;
  #creates = 0;
  #attempt = 0;
  #abandoned: (() => void) | null = null;
  #settled = false;
  /** Creates may have been applied without our having heard. */
  #unknown = false;
  /** Set while the next try waits for its time: nothing of ours is there, and nothing is on its way. */
  #endPause: (() => void) | null = null;

  constructor(desk: SessionDesk, settings: CreateSettings, plan: NodesPlan, listener: NodesListener) {
    this.#desk = desk;
    this.#settings = settings;
    this.#plan = plan;
    this.#parents = parentsOf(plan.parts);
    this.#listener = listener;
    this.#prefixes = plan.parts.map(({ parent }) =>
      joinPath(parent, protectionPrefix(settings.runtime.randomId())),
    );
    const sought = plan.parts.map(({ parent }, index) => ({
      parent,
      prefix: this.#prefixes[index] as string,
    }));
    this.#search = new NodeSearch(desk, settings.runtime, sought, {
      wanted: () => this.#abandoned === null,
      found: (nodes, listings) => this.#ready(nodes, listings),
      none: () => {
        this.#unknown = false;
        this.#resume();
      },
      unanswered: (error) => this.#unanswered(error),
      failed: (error) => this.#fail(this.#failure(error)),
    });
    this.#startedMs = settings.runtime.nowMs();
  }

  get roundTrips(): number {
    return this.#creates + this.#search.roundTrips;
  }

  start(): void {
    this.#create([]);
  }

  /** Gives up: tells the listener nothing more, and calls `gone` once no node of ours is left. */
  abandon(gone: () => void): void {
    if (this.#settled || this.#desk.over) return gone();
    if (this.#endPause !== null) {
      this.#endPause();
      return gone();
    }
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
    const { session, creating } = this.#desk;
    let made: Outcome<OwnNodes> | null = null;
    let mistake: HoldfastError | null = null;
    this.#creates++;
    session.batch(() => {
      let parents: MissingParents;
      try {
        // Code of the caller's, and values that may be too large to send: a mistake in them is that of this one acquire.
        parents = new MissingParents(this.#settings, missingLevels);
        const requests = this.#requests();
        parents.send(session);
        this.#plan.send(this.#desk, requests, (outcome) => {
          made = outcome;
          if (outcome.ok) for (const { path } of outcome.value) this.#desk.nodes.add(path);
        });
      } catch (error) {
        mistake = error as HoldfastError;
        return;
      }
      this.#plan.readAlong?.();
      listAll(session, this.#parents, (listings) => {
        creating.leave();
        this.#answered(made as Outcome<OwnNodes>, listings, parents);
      });
    });
    if (mistake === null) return;
    creating.leave();
    this.#fail(mistake);
  }

  #requests(): [CreateRequest, ...CreateRequest[]] {
    const requests = this.#plan.parts.map(({ base, data }, index): CreateRequest => {
      const path = (this.#prefixes[index] as string) + base;
      return { path, data, acl: this.#settings.aclOf(path), flags: CreateFlags.ephemeralSequential };
    });
    return requests as [CreateRequest, ...CreateRequest[]];
  }

  #answered(made: Outcome<OwnNodes>, listings: Listings, parents: MissingParents): void {
    if (made.ok) return this.#ready(made.value, listings);
    const { error } = made;
    if (!(error instanceof ZooKeeperError)) return this.#unanswered(error);
    if (this.#abandoned !== null) return this.#finishAbandoned();
    if (error.code === errorCodes.NoNode) {
      if (parents.levels.length === 0) return this.#create(this.#levels());
      const refusal = parents.refusal(this.#desk.session, this.#lockNameAt(error));
      if (refusal !== null) return this.#fail(refusal);
    } else if (!isPassing(error)) {
      return this.#fail(this.#failure(error));
    }
    // A parent was reaped between two requests, or the server is too busy.
    this.#again(error);
  }

  #levels(): string[] {
    const { paths } = this.#settings;
    const levels = this.#parents.flatMap((parent) => paths.levelsOf(parent));
    return [...new Set([...levels, ...(this.#plan.siblings ?? [])])];
  }

  #again(error: ZooKeeperError): void {
    const { runtime, retry } = this.#settings;
    this.#attempt++;
    const failure = this.#failure(error);
    const delayMs = retry.next(this.#attempt, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) return this.#fail(failure);
    this.#endPause = this.#desk.pause(delayMs, () => this.#resume());
  }

  #lockNameAt(error: ZooKeeperError): string {
    const { parts } = this.#plan;
    return (parts.find(({ parent }) => parent === error.path) ?? parts[0]).lockName;
  }

  #failure(error: ZooKeeperError): HoldfastError {
    const tries = this.#attempt === 0 ? "" : ` (${this.#attempt} tries)`;
    const what = `queueing on ${this.#parents.join(", ")}${tries}`;
    return requestFailure(what, error, this.#desk.session, this.#lockNameAt(error));
  }

  #unanswered(error: RequestError): void {
    if (error.name === "OutcomeUnknownError") this.#unknown = true;
    this.#desk.whenUsable(() => this.#resume());
  }

  #resume(): void {
    this.#endPause = null;
    if (this.#unknown) this.#search.look();
    else if (this.#abandoned !== null) this.#finishAbandoned();
    else if (this.#desk.session.state === "connected") this.#create([]);
    else this.#desk.whenUsable(() => this.#resume());
  }

  #ready(nodes: OwnNodes, listings: Listings): void {
    this.#unknown = false;
    if (this.#abandoned !== null) {
      const paths = nodes.map(({ path }) => path);
      return this.#desk.deletions.deleteAll(paths, () => this.#finishAbandoned());
    }
    this.#settled = true;
    this.#listener.created(nodes, listings);
  }

  #fail(error: HoldfastError): void {
    if (this.#abandoned !== null) return this.#finishAbandoned();
    this.#settled = true;
    this.#listener.failed(error);
  }

  #finishAbandoned(): void {
    this.#settled = true;
    this.#abandoned?.();
  }
}
