import type { HoldfastError, Millis } from "@holdfast/core";
import {
  baseName,
  CreateFlags,
  errorCodes,
  joinPath,
  type MultiOp,
  type MultiResponse,
  multiFailure,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { protectionPrefix } from "../layout/protected-name.js";
import type { Outcome, RequestError } from "../session/types.js";
import { isPassing, requestFailure } from "./failures.js";
import { MissingParents } from "./missing-parents.js";
import type { OwnNode } from "./own-node-watch.js";
import type { Children, CreateSettings } from "./protected-create.js";
import type { SessionDesk } from "./session-desk.js";

const lookAgainMs: Millis = 250;

/** One of the nodes; `lockName` is for messages. */
export interface JointPart {
  readonly lockName: string;
  readonly parent: string;
  readonly base: string;
  readonly data: Uint8Array;
}

export interface JointCreateListener {
  /** All are there, in the order of the parts. Each parent was listed after that, on the same connection. */
  created(nodes: readonly [OwnNode, ...OwnNode[]], listings: ReadonlyMap<string, Children>): void;
  /** None is there. */
  failed(error: HoldfastError): void;
}

/**
 * Makes several ephemeral-sequential nodes in Curator's protection mode, all or none, in one transaction, and lists their
 * parents behind it in the same write.
 *
 * A transaction whose answer was lost is looked for by the nodes' uuids, after a `sync`, before it is repeated. When
 * only some are found somebody has deleted the others: then these are deleted too, and all are made anew. Missing parents
 * are made as containers, only when the server says NoNode. Nothing is told once the session is over.
 */
export class JointCreate {
  roundTrips = 0;
  readonly #desk: SessionDesk;
  readonly #settings: CreateSettings;
  readonly #parts: readonly JointPart[];
  readonly #parents: readonly string[];
  readonly #listener: JointCreateListener;
  /** Of each part, its node's path up to the number. */
  readonly #prefixes: readonly string[];
  readonly #startedMs: number;
  #attempt = 0;
  #abandoned: (() => void) | null = null;
  #settled = false;
  /** A transaction may have been applied without our having heard. */
  #unknown = false;

  constructor(
    desk: SessionDesk,
    settings: CreateSettings,
    parts: readonly [JointPart, ...JointPart[]],
    listener: JointCreateListener,
  ) {
    this.#desk = desk;
    this.#settings = settings;
    this.#parts = parts;
    this.#parents = [...new Set(parts.map(({ parent }) => parent))];
    this.#listener = listener;
    this.#prefixes = parts.map(({ parent }) =>
      joinPath(parent, protectionPrefix(settings.runtime.randomId())),
    );
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
    let parents: MissingParents;
    let ops: readonly MultiOp[];
    try {
      parents = new MissingParents(this.#settings, missingLevels);
      ops = this.#parts.map((part, index) => this.#step(part, index));
    } catch (error) {
      this.#desk.creating.leave();
      return this.#fail(error as HoldfastError);
    }
    let made: Outcome<MultiResponse> | null = null;
    let tooLarge: HoldfastError | null = null;
    this.roundTrips++;
    session.batch(() => {
      parents.send(session);
      try {
        session.send("multi", { ops }, (outcome) => {
          made = outcome;
          if (outcome.ok) this.#know(outcome.value);
        });
      } catch (error) {
        tooLarge = error as HoldfastError;
        return;
      }
      this.#list((listings) => {
        this.#desk.creating.leave();
        this.#answered(made as Outcome<MultiResponse>, listings, parents);
      });
    });
    if (tooLarge === null) return;
    this.#desk.creating.leave();
    this.#fail(tooLarge);
  }

  #step({ base, data }: JointPart, index: number): MultiOp {
    const path = (this.#prefixes[index] as string) + base;
    const acl = this.#settings.aclOf(path);
    return { op: "create2", request: { path, data, acl, flags: CreateFlags.ephemeralSequential } };
  }

  /** In a batch. `listed` runs with the last of the answers. */
  #list(listed: (listings: ReadonlyMap<string, Children>) => void): void {
    const listings = new Map<string, Children>();
    for (const parent of this.#parents) {
      this.#desk.session.send("getChildren2", { path: parent, watch: false }, (listing) => {
        listings.set(parent, listing);
        if (listings.size === this.#parents.length) listed(listings);
      });
    }
  }

  #know({ results }: MultiResponse): void {
    for (const result of results) {
      if (result.op === "create" || result.op === "create2") this.#desk.nodes.add(result.path);
    }
  }

  #answered(
    made: Outcome<MultiResponse>,
    listings: ReadonlyMap<string, Children>,
    parents: MissingParents,
  ): void {
    if (!made.ok && !(made.error instanceof ZooKeeperError)) return this.#unanswered(made.error);
    const refusal = this.#refusalOf(made);
    if (refusal === null) return this.#ready(nodesOf(made), listings);
    if (this.#abandoned !== null) return this.#finishAbandoned();
    if (refusal.code === errorCodes.NoNode) {
      if (parents.levels.length === 0) return this.#create(this.#levels());
      const failure = parents.refusal(this.#desk.session, this.#lockNameAt(refusal));
      if (failure !== null) return this.#fail(failure);
    } else if (!isPassing(refusal)) {
      return this.#fail(this.#failure(refusal));
    }
    this.#again(refusal);
  }

  /** A transaction that was refused is an answer like any other on the wire: its results tell. */
  #refusalOf(made: Outcome<MultiResponse>): ZooKeeperError | null {
    if (!made.ok) return made.error as ZooKeeperError;
    const failure = multiFailure(made.value);
    if (failure === undefined) return null;
    const path = this.#parts[failure.index]?.parent as string;
    return new ZooKeeperError(failure.code, { op: "create2", path });
  }

  #levels(): string[] {
    return [...new Set(this.#parents.flatMap((parent) => this.#settings.paths.levelsOf(parent)))];
  }

  #lockNameAt(error: RequestError): string {
    const path = error instanceof ZooKeeperError ? error.path : undefined;
    const part = this.#parts.find(({ parent }) => parent === path) ?? this.#parts[0];
    return (part as JointPart).lockName;
  }

  #failure(error: RequestError): HoldfastError {
    const where = this.#parents.join(", ");
    return requestFailure(`queueing on ${where}`, error, this.#desk.session, this.#lockNameAt(error));
  }

  #again(error: ZooKeeperError): void {
    const { runtime, retry } = this.#settings;
    this.#attempt++;
    const failure = this.#failure(error);
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

  /** `sync`, then the children: if our transaction was applied, its nodes are among them. */
  #lookUp(): void {
    const { session } = this.#desk;
    this.roundTrips++;
    let synced: RequestError | null = null;
    session.batch(() => {
      session.prove((outcome) => {
        if (!outcome.ok) synced = outcome.error;
      });
      this.#list((listings) => {
        if (synced !== null) return this.#unanswered(synced);
        for (const listing of listings.values()) {
          if (listing.ok) continue;
          if (!(listing.error instanceof ZooKeeperError)) return this.#unanswered(listing.error);
          if (listing.error.code !== errorCodes.NoNode) return this.#lookAgain(listing.error);
        }
        this.#found(this.#prefixes.map((prefix, index) => this.#find(prefix, index, listings)));
      });
    });
  }

  /** Whether the nodes are there is still open: nothing may be made, or told, before that is known. */
  #lookAgain(error: ZooKeeperError): void {
    if (isPassing(error)) this.#settings.runtime.setTimer(lookAgainMs, () => this.#resume());
    else this.#fail(this.#failure(error));
  }

  #find(prefix: string, index: number, listings: ReadonlyMap<string, Children>): string | null {
    const { parent } = this.#parts[index] as JointPart;
    const listing = listings.get(parent);
    if (listing?.ok !== true) return null;
    const name = listing.value.children.find((child) => joinPath(parent, child).startsWith(prefix));
    return name === undefined ? null : joinPath(parent, name);
  }

  #found(paths: readonly (string | null)[]): void {
    const there = paths.filter((path) => path !== null);
    for (const path of there) this.#desk.nodes.add(path);
    if (this.#abandoned === null && there.length === paths.length) this.#adopt(there);
    else this.#takeBack(there);
  }

  /** Reads what the lost answer would have told, and the parents behind it. */
  #adopt(paths: readonly string[]): void {
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
      this.#list((listings) => this.#adopted(paths, reads, listings));
    });
  }

  #adopted(
    paths: readonly string[],
    reads: readonly Outcome<OwnNode>[],
    listings: ReadonlyMap<string, Children>,
  ): void {
    const nodes: OwnNode[] = [];
    const gone: string[] = [];
    for (const [index, read] of reads.entries()) {
      if (read.ok) nodes.push(read.value);
      else if (!(read.error instanceof ZooKeeperError)) return this.#unanswered(read.error);
      else if (read.error.code === errorCodes.NoNode) gone.push(paths[index] as string);
      // They are there: others beside them would wait for them for ever.
      else if (isPassing(read.error)) return this.#lookAgain(read.error);
      else return this.#giveUp(paths, this.#failure(read.error));
    }
    if (gone.length === 0) return this.#ready(nodes as [OwnNode, ...OwnNode[]], listings);
    for (const path of gone) this.#desk.nodes.delete(path);
    this.#takeBack(nodes.map(({ path }) => path));
  }

  /** Deletes what there is of an incomplete or abandoned set, and goes on. */
  #takeBack(paths: readonly string[]): void {
    this.#delete(paths, () => {
      this.#unknown = false;
      this.#resume();
    });
  }

  #giveUp(paths: readonly string[], failure: HoldfastError): void {
    this.#delete(paths, () => this.#fail(failure));
  }

  #delete(paths: readonly string[], deleted: () => void): void {
    let open = paths.length;
    if (open === 0) return deleted();
    this.#desk.session.batch(() => {
      for (const path of paths) {
        this.#desk.deletions.delete(path, () => {
          open -= 1;
          if (open === 0) deleted();
        });
      }
    });
  }

  #ready(nodes: readonly [OwnNode, ...OwnNode[]], listings: ReadonlyMap<string, Children>): void {
    this.#unknown = false;
    if (this.#abandoned !== null) return this.#takeBack(nodes.map(({ path }) => path));
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

/** 3.8.0 leaves the Stat out of a transaction's results: the zxid of the reply is then the czxid of all of them. */
function nodesOf(made: Outcome<MultiResponse>): [OwnNode, ...OwnNode[]] {
  if (!made.ok) throw new Error("a transaction without an answer has no nodes");
  const nodes = made.value.results.map((result) => {
    if (result.op === "create2") return ownNode(result.path, result.stat.czxid);
    if (result.op === "create") return ownNode(result.path, made.zxid);
    throw new Error(`a create in a transaction was answered as ${result.op}`);
  });
  return nodes as [OwnNode, ...OwnNode[]];
}

function ownNode(path: string, czxid: bigint): OwnNode {
  return { path, name: baseName(path), czxid };
}
