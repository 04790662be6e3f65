import type { Millis, Runtime } from "@holdfast/core";
import { baseName, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../session/errors.js";
import type { Outcome, RequestError, ZooKeeperSession } from "../session/types.js";
import { isPassing } from "./failures.js";
import type { OwnNode } from "./own-node-watch.js";
import type { SessionDesk } from "./session-desk.js";

export type Children = Outcome<{ children: string[] }>;
export type OwnNodes = readonly [OwnNode, ...OwnNode[]];
/** By the path of the parent. */
export type Listings = ReadonlyMap<string, Children>;

const firstPauseMs: Millis = 250;
/** Nodes that nobody waits for any more are looked for ever less often, and at least so often. */
const longestPauseMs: Millis = 30_000;

/** A node that may be there: its name begins with a uuid of ours. */
export interface SoughtNode {
  readonly parent: string;
  /** Its path up to the base. */
  readonly prefix: string;
}

export interface SearchListener {
  /** Asked when nodes are found: whether somebody still waits for them. */
  wanted(): boolean;
  /** All are there. Each parent was listed after that, on the same connection. */
  found(nodes: OwnNodes, listings: Listings): void;
  /** None is there, or none is left. */
  none(): void;
  /** Contact broke. */
  unanswered(error: RequestError): void;
  /** The server will not show them; what was found has been deleted, and what was not is looked for as long as the session lives. */
  failed(error: ZooKeeperError): void;
}

/**
 * Looks by their uuids for nodes that creates without an answer may have made. Whether they are there stays open through
 * refusals that pass: nothing may be made, or told, before it is known. Nodes that are not wanted any more, or of
 * which somebody has deleted a part, are deleted.
 */
export class NodeSearch {
  roundTrips = 0;
  readonly #desk: SessionDesk;
  readonly #runtime: Runtime;
  readonly #sought: readonly SoughtNode[];
  readonly #parents: readonly string[];
  readonly #listener: SearchListener;

  constructor(desk: SessionDesk, runtime: Runtime, sought: readonly SoughtNode[], listener: SearchListener) {
    this.#desk = desk;
    this.#runtime = runtime;
    this.#sought = sought;
    this.#parents = parentsOf(sought);
    this.#listener = listener;
  }

  /** `sync`, then the children: the server that is asked may lag behind the one that made them. */
  look(): void {
    const { session } = this.#desk;
    this.roundTrips++;
    let synced: RequestError | null = null;
    session.batch(() => {
      session.prove((outcome) => {
        if (!outcome.ok) synced = outcome.error;
      });
      listAll(session, this.#parents, (listings) => {
        if (synced !== null) return this.#failed(synced, []);
        for (const listing of listings.values()) {
          if (!listing.ok && !saysNoNode(listing.error)) return this.#failed(listing.error, []);
        }
        this.#listed(this.#sought.map((node) => find(node, listings)));
      });
    });
  }

  #listed(paths: readonly (string | null)[]): void {
    const there = paths.filter((path) => path !== null);
    for (const path of there) this.#desk.nodes.add(path);
    if (this.#listener.wanted() && there.length === paths.length) this.#read(there);
    else this.#desk.deletions.deleteAll(there, () => this.#listener.none());
  }

  /** What the lost answer would have told, and the parents behind it. */
  #read(paths: readonly string[]): void {
    const { session } = this.#desk;
    const reads: Outcome<OwnNode>[] = [];
    this.roundTrips++;
    session.batch(() => {
      for (const path of paths) {
        session.send("exists", { path, watch: false }, (outcome) => {
          if (!outcome.ok) reads.push(outcome);
          else reads.push({ ...outcome, value: ownNode(path, outcome.value.stat.czxid) });
        });
      }
      listAll(session, this.#parents, (listings) => this.#wereRead(paths, reads, listings));
    });
  }

  #wereRead(paths: readonly string[], reads: readonly Outcome<OwnNode>[], listings: Listings): void {
    const { nodes: known, deletions } = this.#desk;
    const nodes: OwnNode[] = [];
    for (const [index, read] of reads.entries()) {
      if (read.ok) nodes.push(read.value);
      else if (saysNoNode(read.error)) known.delete(paths[index] as string);
      // They are there: others beside them would wait for them for ever.
      else return this.#failed(read.error, paths);
    }
    if (nodes.length === paths.length)
      return this.#listener.found(nodes as [OwnNode, ...OwnNode[]], listings);
    const left = nodes.map(({ path }) => path);
    deletions.deleteAll(left, () => this.#listener.none());
  }

  #failed(error: RequestError, found: readonly string[]): void {
    if (!(error instanceof ZooKeeperError)) return this.#listener.unanswered(error);
    if (isPassing(error)) return this.#desk.again(error, () => this.look());
    this.#desk.deletions.deleteAll(found, () => this.#listener.failed(error));
    if (found.length < this.#sought.length) this.#clearLater(firstPauseMs);
  }

  /** A node that stayed would be waited for by everybody behind it, for as long as our session lives. */
  #clearLater(delayMs: Millis): void {
    this.#runtime.setTimer(delayMs, () => this.#desk.whenUsable(() => this.#clear(delayMs)));
  }

  #clear(delayMs: Millis): void {
    const { session, deletions } = this.#desk;
    let synced = false;
    session.batch(() => {
      session.prove((outcome) => {
        synced = outcome.ok;
      });
      listAll(session, this.#parents, (listings) => {
        const left = this.#sought.map((node) => find(node, listings)).filter((path) => path !== null);
        deletions.deleteAll(left, () => {});
        const seen =
          synced && [...listings.values()].every((listing) => listing.ok || saysNoNode(listing.error));
        if (!seen) this.#clearLater(Math.min(2 * delayMs, longestPauseMs));
      });
    });
  }
}

/** In a batch of the caller's. `listed` runs with the last of the answers. */
export function listAll(
  session: ZooKeeperSession,
  parents: readonly string[],
  listed: (listings: Listings) => void,
): void {
  const listings = new Map<string, Children>();
  for (const parent of parents) {
    session.send("getChildren2", { path: parent, watch: false }, (listing) => {
      listings.set(parent, listing);
      if (listings.size === parents.length) listed(listings);
    });
  }
}

export function parentsOf(nodes: readonly { readonly parent: string }[]): readonly string[] {
  return [...new Set(nodes.map(({ parent }) => parent))];
}

export function ownNode(path: string, czxid: bigint): OwnNode {
  return { path, name: baseName(path), czxid };
}

function find({ parent, prefix }: SoughtNode, listings: Listings): string | null {
  const listing = listings.get(parent);
  if (listing?.ok !== true) return null;
  const name = listing.value.children.find((child) => joinPath(parent, child).startsWith(prefix));
  return name === undefined ? null : joinPath(parent, name);
}
