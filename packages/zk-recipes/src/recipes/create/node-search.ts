import type { Millis } from "@holdfast/core";
import { joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, RequestError } from "../../session/types.js";
import type { OwnNode } from "../grant/own-node-watch.js";
import { firstPauseMs, isPassing, longerPauseMs } from "../session/failures.js";
import { sendSync } from "../session/sync.js";
import type { SessionContext } from "../session-context.js";
import { type Children, listAll, type OwnNodes, ownNode } from "./node-creates.js";

/** A node that may be there: its name begins with a UUID of ours. */
export interface SoughtNode {
  readonly parent: string;
  /** The path of the node up to the base of its name. */
  readonly prefix: string;
}

export interface SearchListener {
  /** Whether the attempt still waits for the nodes. Called when nodes were found. */
  wanted(): boolean;
  /** All nodes are there. The parent of each was listed after that, on the same connection. */
  found(nodes: OwnNodes, listings: readonly Children[]): void;
  /** No node is there, or none is left except those that the server refused to delete. `refusal`: the first such refusal. */
  none(refusal: ZooKeeperError | null): void;
  /** Contact broke before the answer. */
  unanswered(error: RequestError): void;
  /**
   * The server refuses to show the nodes. Nodes that were found are deleted. The search for the others goes on as long as
   * the session lives.
   */
  failed(error: ZooKeeperError): void;
}

/**
 * Looks for nodes that unanswered creates may have made, by the UUIDs in their names. While the server refuses only for
 * the moment, it is not known whether the nodes are there, and nothing may be made or reported. The nodes are deleted if
 * the attempt does not want them any more, or if another client has deleted some of them.
 */
export class NodeSearch {
  roundTrips = 0;
  readonly #context: SessionContext;
  readonly #sought: readonly SoughtNode[];
  readonly #listener: SearchListener;

  constructor(context: SessionContext, sought: readonly SoughtNode[], listener: SearchListener) {
    this.#context = context;
    this.#sought = sought;
    this.#listener = listener;
  }

  look(): void {
    const { session } = this.#context;
    this.roundTrips++;
    const sync = sendSync(session);
    listAll(session, this.#sought, (listings) => {
      if (sync.failure !== null) return this.#failed(sync.failure, []);
      for (const listing of listings) {
        if (!listing.ok && !saysNoNode(listing.error)) return this.#failed(listing.error, []);
      }
      this.#listed(this.#find(listings));
    });
  }

  #listed(paths: readonly (string | null)[]): void {
    const there = paths.filter((path) => path !== null);
    for (const path of there) this.#context.nodes.set(path, 0n);
    if (this.#listener.wanted() && there.length === paths.length) this.#read(there);
    else this.#context.deletions.deleteAll(there, (refusal) => this.#listener.none(refusal));
  }

  /** Reads what the lost answer would have said, and lists the parents behind it. */
  #read(paths: readonly string[]): void {
    const { session } = this.#context;
    const reads: Outcome<OwnNode>[] = [];
    this.roundTrips++;
    for (const path of paths) {
      session.send("exists", { path, watch: false }, (outcome) => {
        if (!outcome.ok) reads.push(outcome);
        else reads.push({ ...outcome, value: ownNode(path, outcome.value.stat.czxid) });
      });
    }
    listAll(session, this.#sought, (listings) => this.#wereRead(paths, reads, listings));
  }

  #wereRead(
    paths: readonly string[],
    reads: readonly Outcome<OwnNode>[],
    listings: readonly Children[],
  ): void {
    const { nodes: known, deletions } = this.#context;
    const nodes: OwnNode[] = [];
    for (const [index, read] of reads.entries()) {
      if (read.ok) nodes.push(read.value);
      else if (saysNoNode(read.error)) known.delete(paths[index] as string);
      // The nodes are there. Other clients behind them in the queue would wait for them for ever.
      else return this.#failed(read.error, paths);
    }
    if (nodes.length === paths.length) {
      return this.#listener.found(nodes as [OwnNode, ...OwnNode[]], listings);
    }
    const left = nodes.map(({ path }) => path);
    deletions.deleteAll(left, (refusal) => this.#listener.none(refusal));
  }

  #failed(error: RequestError, found: readonly string[]): void {
    if (!(error instanceof ZooKeeperError)) return this.#listener.unanswered(error);
    if (isPassing(error)) return this.#context.again(error, () => this.look());
    this.#context.deletions.deleteAll(found, () => this.#listener.failed(error));
    if (found.length < this.#sought.length) this.#clearLater(firstPauseMs);
  }

  /** Deletes the remaining nodes later. Every client behind a node that stayed would wait for it as long as our session lives. */
  #clearLater(delayMs: Millis): void {
    this.#context.runtime.setTimer(delayMs, () => this.#context.whenUsable(() => this.#clear(delayMs)));
  }

  #clear(delayMs: Millis): void {
    const { session, deletions } = this.#context;
    const sync = sendSync(session);
    listAll(session, this.#sought, (listings) => {
      const left = this.#find(listings).filter((path) => path !== null);
      deletions.deleteAll(left, () => {});
      const seen = listings.every((listing) => listing.ok || saysNoNode(listing.error));
      if (!seen || sync.failure !== null) this.#clearLater(longerPauseMs(delayMs));
    });
  }

  #find(listings: readonly Children[]): (string | null)[] {
    return this.#sought.map((node, index) => find(node, listings[index] as Children));
  }
}

function find({ parent, prefix }: SoughtNode, listing: Children): string | null {
  if (!listing.ok) return null;
  const name = listing.value.children.find((child) => joinPath(parent, child).startsWith(prefix));
  return name === undefined ? null : joinPath(parent, name);
}
