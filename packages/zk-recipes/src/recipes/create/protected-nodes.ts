import type { HoldfastError, Millis } from "@holdfast/core";
import { CreateFlags, type CreateRequest, errorCodes, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { keepableGuid, protectionPrefix } from "../../layout/queue-order.js";
import type { QueueRule } from "../../layout/queue-rules.js";
import type { Outcome, RequestError } from "../../session/types.js";
import { isPassing, requestFailure } from "../session/failures.js";
import type { SessionContext } from "../session-context.js";
import type { CreateSettings } from "./create-settings.js";
import { MissingParents } from "./missing-parents.js";
import { type Children, listAll, type OwnNodes, ownNode, sendTransaction } from "./node-creates.js";
import { NodeSearch } from "./node-search.js";

/** One of the nodes. `lockName` is used in messages. */
export interface NodePart {
  readonly lockName: string;
  /** The parent of the node. */
  readonly parent: string;
  readonly rule: Pick<QueueRule, "base">;
  readonly data: Uint8Array;
  /** The provider may keep the node after its release. Default: `false`. */
  readonly keepable?: boolean | undefined;
}

/** The nodes to make, and what is sent with them. */
export interface NodesPlan {
  /** At least one. Either all of them are made, or none. */
  readonly parts: readonly [NodePart, ...NodePart[]];
  /** Whether all parts are made in one transaction. Default: `false`, a plain create of the only part. */
  readonly transaction?: boolean;
  /** More parents, which are made together with the parents of the parts when one is missing. */
  readonly siblings?: readonly string[];
  /** Sends reads of the caller in the same write, behind the creates and before the listings. */
  readonly readAlong?: () => void;
}

export interface NodesListener {
  /** All nodes are there, in the order of the parts. The parent of each was listed after that, on the same connection. */
  created(nodes: OwnNodes, listings: readonly Children[]): void;
  /** No node is left, except one that the server refuses to show or to delete. */
  failed(error: HoldfastError): void;
}

/**
 * Makes ephemeral-sequential nodes in Curator's protection mode, and lists their parents behind them in the same write.
 *
 * If the answer to the creates is lost, the nodes are looked for by their UUIDs before the creates are repeated. Missing
 * parents are made as containers, but only after the server answered NoNode. Once the session is over the listener is not
 * called any more; an attempt on the next session makes nodes with new UUIDs.
 */
export class ProtectedNodes {
  readonly #context: SessionContext;
  readonly #settings: CreateSettings;
  readonly #plan: NodesPlan;
  readonly #listener: NodesListener;
  /** The path of each part's node, up to the base. */
  readonly #prefixes: readonly string[];
  /** The search for the nodes, made when an answer is lost. */
  #search: NodeSearch | null = null;
  readonly #startedMs: Millis;
  #creates = 0;
  /** The answer to the last creates. */
  #made: Outcome<OwnNodes> | null = null;
  #tries = 0;
  #abandoned: ((refusal: ZooKeeperError | null) => void) | null = null;
  #settled = false;
  /** Set while the next try waits for its time. No node of ours is there then, and no request is on its way. */
  #endPause: (() => void) | null = null;

  constructor(context: SessionContext, settings: CreateSettings, plan: NodesPlan, listener: NodesListener) {
    this.#context = context;
    this.#settings = settings;
    this.#plan = plan;
    this.#listener = listener;
    this.#prefixes = plan.parts.map(({ parent, keepable }) => {
      const guid = settings.runtime.randomId();
      return joinPath(parent, protectionPrefix(keepable === true ? keepableGuid(guid) : guid));
    });
    this.#startedMs = settings.runtime.nowMs();
  }

  get roundTrips(): number {
    return this.#creates + (this.#search?.roundTrips ?? 0);
  }

  /**
   * Gives up: the listener is not called any more. Resolves when no node of ours is left, or the session is over. Rejects
   * when the server refuses to delete one, or to show whether there is one.
   */
  abandon(): Promise<void> {
    if (this.#settled || this.#context.over) return Promise.resolve();
    if (this.#endPause !== null) {
      this.#endPause();
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const notOver = this.#context.whenOver(resolve);
      this.#abandoned = (refusal) => {
        notOver();
        if (refusal === null) resolve();
        else reject(this.#failure(refusal, "deleting what was queued"));
      };
    });
  }

  /** `missingLevels`: the parents to make in front of the nodes. */
  start(missingLevels: readonly string[] = []): void {
    this.#context.creating.enter(() => {
      if (this.#abandoned === null) return this.#send(missingLevels);
      this.#context.creating.leave();
      this.#finishAbandoned();
    });
  }

  #send(missingLevels: readonly string[]): void {
    const { session, creating } = this.#context;
    let missing: MissingParents | null = null;
    this.#creates++;
    try {
      // The ACL function is the caller's, and values may be too large to send: such a mistake fails this acquire alone.
      if (missingLevels.length > 0) missing = new MissingParents(this.#settings, missingLevels);
      const requests = this.#requests();
      missing?.send(session);
      this.#sendCreates(requests);
    } catch (error) {
      creating.leave();
      return this.#fail(error as HoldfastError);
    }
    this.#plan.readAlong?.();
    const { parts } = this.#plan;
    const listed = (listings: readonly Children[]): void => {
      creating.leave();
      this.#answered(this.#made as Outcome<OwnNodes>, listings, missing);
    };
    if (parts.length > 1) return listAll(session, parts, listed);
    session.send("getChildren2", { path: parts[0].parent, watch: false }, (listing) => listed([listing]));
  }

  #sendCreates(requests: readonly [CreateRequest, ...CreateRequest[]]): void {
    const { session, nodes } = this.#context;
    const { parts, transaction } = this.#plan;
    const answered = (made: Outcome<OwnNodes>): void => {
      this.#made = made;
      if (made.ok) for (const { path, czxid } of made.value) nodes.set(path, czxid);
    };
    if (transaction) return sendTransaction(session, requests, parts, answered);
    session.send("create2", requests[0], (outcome) => {
      if (!outcome.ok) return answered(outcome);
      const { path, stat } = outcome.value;
      answered({ ...outcome, value: [ownNode(path, stat.czxid)] });
    });
  }

  #requests(): [CreateRequest, ...CreateRequest[]] {
    const requests = this.#plan.parts.map(({ rule, data }, index): CreateRequest => {
      const path = (this.#prefixes[index] as string) + rule.base;
      return { path, data, acl: this.#settings.aclOf(path), flags: CreateFlags.ephemeralSequential };
    });
    return requests as [CreateRequest, ...CreateRequest[]];
  }

  #answered(made: Outcome<OwnNodes>, listings: readonly Children[], missing: MissingParents | null): void {
    if (made.ok) return this.#ready(made.value, listings);
    const { error } = made;
    if (!(error instanceof ZooKeeperError)) return this.#unanswered(error);
    if (this.#abandoned !== null) return this.#finishAbandoned();
    if (error.code === errorCodes.NoNode) {
      if (missing === null) return this.start(this.#levels());
      const refusal = missing.refusal(this.#context.session, this.#lockNameAt(error));
      if (refusal !== null) return this.#fail(refusal);
    } else if (!isPassing(error)) {
      return this.#fail(this.#failure(error));
    }
    // A parent was deleted between two requests, or the server is too busy.
    const { runtime, retry } = this.#settings;
    this.#tries++;
    const failure = this.#failure(error);
    const delayMs = retry.next(this.#tries, runtime.nowMs() - this.#startedMs, failure);
    if (delayMs === null) return this.#fail(failure);
    this.#endPause = this.#context.pause(delayMs, () => this.#resume());
  }

  #levels(): string[] {
    const { parts, siblings = [] } = this.#plan;
    const levels = parts.flatMap(({ parent }) => this.#settings.paths.levelsOf(parent));
    return [...new Set([...levels, ...siblings])];
  }

  #lockNameAt(error: ZooKeeperError): string {
    const { parts } = this.#plan;
    return (parts.find(({ parent }) => parent === error.path) ?? parts[0]).lockName;
  }

  #failure(error: ZooKeeperError, what = "queueing"): HoldfastError {
    const tries = this.#tries === 0 ? "" : ` (${this.#tries} tries)`;
    const parents = new Set(this.#plan.parts.map(({ parent }) => parent));
    const told = `${what} on ${[...parents].join(", ")}${tries}`;
    return requestFailure(told, error, this.#context.session, this.#lockNameAt(error));
  }

  #unanswered(error: RequestError): void {
    if (error.name === "OutcomeUnknownError") this.#context.unknownCreates.add(this);
    this.#context.whenUsable(() => this.#resume());
  }

  #resume(): void {
    this.#endPause = null;
    if (this.#context.unknownCreates.has(this)) this.#look();
    else if (this.#abandoned !== null) this.#finishAbandoned();
    else if (this.#context.session.state === "connected") this.start();
    else this.#context.whenUsable(() => this.#resume());
  }

  /** Looks for the nodes that the lost answer would have named. */
  #look(): void {
    const sought = this.#plan.parts.map(({ parent }, index) => {
      return { parent, prefix: this.#prefixes[index] as string };
    });
    this.#search ??= new NodeSearch(this.#context, sought, {
      wanted: () => this.#abandoned === null,
      found: (nodes, listings) => this.#ready(nodes, listings),
      none: (refusal) => {
        this.#context.unknownCreates.delete(this);
        if (refusal === null) this.#resume();
        else if (this.#abandoned !== null) this.#finishAbandoned(refusal);
        // Another try would wait for its own earlier node.
        else this.#fail(this.#failure(refusal, "deleting what was queued"));
      },
      unanswered: (error) => this.#unanswered(error),
      failed: (error) => this.#fail(this.#failure(error), error),
    });
    this.#search.look();
  }

  #ready(nodes: OwnNodes, listings: readonly Children[]): void {
    this.#context.unknownCreates.delete(this);
    if (this.#abandoned !== null) {
      const paths = nodes.map(({ path }) => path);
      return this.#context.deletions.deleteAll(paths, (refusal) => this.#finishAbandoned(refusal));
    }
    this.#settled = true;
    this.#listener.created(nodes, listings);
  }

  #fail(error: HoldfastError, refusal: ZooKeeperError | null = null): void {
    if (this.#abandoned !== null) return this.#finishAbandoned(refusal);
    this.#settled = true;
    this.#listener.failed(error);
  }

  #finishAbandoned(refusal: ZooKeeperError | null = null): void {
    this.#settled = true;
    this.#abandoned?.(refusal);
  }
}
