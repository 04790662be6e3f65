import type { Runtime } from "@holdfast/core";
import {
  baseName,
  CreateFlags,
  decodeResponse,
  joinPath,
  type MultiOp,
  type OpName,
  parentOf,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  replyHeaderBytes,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { Link } from "../client/link.js";
import type { LinkListener } from "../client/link-listener.js";
import { askAgainMs, isPassingCode } from "../client/passing.js";
import { PlainPacket } from "../client/pending-queue.js";
import { noPaths, type WatchedPaths } from "../client/set-watches.js";
import { parseProtectedName } from "../layout/queue-order.js";
import { saysNoNode } from "./errors.js";
import type { Settle } from "./types.js";

const sequence = /-?\d{9,10}$/;

/**
 * The ephemeral nodes that are left in the session of an adopted client. When our lease ends first, the client may still
 * get its session back, and we may not close it. Nodes of a lock that is not held here any more would then block all
 * clients as long as this client lives. So they are deleted one by one as soon as the client is connected.
 */
export class Leftovers implements LinkListener {
  readonly #runtime: Runtime;
  readonly #paths = new Set<string>();
  /** Unanswered creates of names that are ours alone: their paths as requested, to which the server may have added a number. */
  readonly #doubtful = new Set<string>();
  /** Paths about which a request is on its way. */
  readonly #asked = new Set<string>();
  #looking = false;
  #cancelPause: (() => void) | null = null;
  /** Resolves when no node is left, or nothing more can be done. */
  readonly done: Promise<void>;
  #link: Link | null = null;
  #cleared!: () => void;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.done = new Promise((resolve) => {
      this.#cleared = resolve;
    });
  }

  /** Wraps `settle` so that the nodes which the request makes or deletes are noted first. */
  track<K extends OpName>(
    op: K,
    request: RequestOf<K>,
    settle: Settle<ResponseOf<K>>,
  ): Settle<ResponseOf<K>> {
    if (op === "create" || op === "create2") {
      const { path, flags } = request as RequestOf<"create2">;
      if (!isEphemeral(flags)) return settle;
      return (outcome) => {
        if (outcome.ok) this.#paths.add((outcome.value as ResponseOf<"create">).path);
        else if (!(outcome.error instanceof ZooKeeperError)) this.#doubt(path);
        settle(outcome);
      };
    }
    if (op === "multi") return this.#trackAll(request as RequestOf<"multi">, settle);
    if (op !== "delete") return settle;
    const { path } = request as RequestOf<"delete">;
    return (outcome) => {
      const gone = outcome.ok || saysNoNode(outcome.error);
      if (gone) this.#paths.delete(path);
      settle(outcome);
    };
  }

  /** Tracks the steps of a transaction as if each had been sent alone. Either all of them were applied, or none. */
  #trackAll<T>({ ops }: RequestOf<"multi">, settle: Settle<T>): Settle<T> {
    const asked = ops.flatMap((step) => (isEphemeralCreate(step) ? [step.request.path] : []));
    if (asked.length === 0) return settle;
    return (outcome) => {
      if (!outcome.ok) {
        if (!(outcome.error instanceof ZooKeeperError)) for (const path of asked) this.#doubt(path);
      } else {
        const { results } = outcome.value as ResponseOf<"multi">;
        for (const [index, result] of results.entries()) {
          const step = ops[index];
          const made = result.op === "create" || result.op === "create2";
          if (made && step !== undefined && isEphemeralCreate(step)) this.#paths.add(result.path);
        }
      }
      settle(outcome);
    };
  }

  /** Notes a node that may be ours. If other clients use its name too, the owner of the node shows later whether it is. */
  #doubt(path: string): void {
    if (isOursAlone(path)) this.#doubtful.add(path);
    else this.#paths.add(path);
  }

  /** Takes over the link until all nodes are gone, or the client's session is over. */
  clear(link: Link): void {
    this.#link = link;
    link.listen(this);
    // The session may have found that its lease is over while a connection ended. The requests of that connection settle
    // only afterwards.
    queueMicrotask(() => {
      if (link.stopped) this.#end();
      else this.#sweep();
    });
  }

  watched(): WatchedPaths {
    return noPaths;
  }

  dialling(): void {}
  greeting(): void {}
  received(): void {}
  greeted(): void {}
  event(): void {}
  broken(): void {}

  /** No answer comes any more: `up` starts again. */
  down(): void {
    this.#asked.clear();
    this.#looking = false;
  }

  up(): void {
    this.#sweep();
  }

  expired(): void {
    this.#end();
  }

  authFailed(): void {
    this.#end();
  }

  over(): void {
    this.#end();
  }

  #sweep(): void {
    const link = this.#link;
    if (link === null) return;
    if (this.#doubtful.size === 0 && this.#paths.size === 0) return this.#end();
    if (!link.up) return;
    const paths = [...this.#paths].filter((path) => !this.#asked.has(path));
    const shared = paths.filter((path) => !isOursAlone(path));
    const looks = this.#doubtful.size > 0 && !this.#looking;
    // The server may lag behind the server that made a node. What is read behind a `sync` is no older than the writes before it.
    let lags = true;
    if (shared.length > 0 || looks) {
      this.#ask(link, "sync", { path: "/" }, ({ err }) => {
        lags = err !== 0;
      });
    }
    for (const path of paths) {
      this.#asked.add(path);
      if (isOursAlone(path)) this.#delete(link, path);
      else this.#deleteIfOurs(link, path, () => lags);
    }
    if (looks) this.#lookForDoubtful(link, () => lags);
  }

  #delete(link: Link, path: string): void {
    this.#ask(link, "delete", { path, version: -1 }, ({ err }) => {
      // If the server refuses for good (no permission), nothing more can be done.
      if (isPassingCode(err)) this.#later(path);
      else this.#forget(path);
    });
  }

  /**
   * Deletes the node if our session still owns it. An earlier delete may have been applied without an answer, and another
   * client may have made a node of that name since.
   */
  #deleteIfOurs(link: Link, path: string, lags: () => boolean): void {
    this.#ask(link, "exists", { path, watch: false }, ({ err }, frame) => {
      if (lags() || isPassingCode(err)) this.#later(path);
      else if (
        err === 0 &&
        decodeResponse("exists", frame, replyHeaderBytes).stat.ephemeralOwner === link.sessionId
      )
        this.#delete(link, path);
      else this.#forget(path);
    });
  }

  /** Looks for the doubtful nodes among the children of their parents. */
  #lookForDoubtful(link: Link, lags: () => boolean): void {
    this.#looking = true;
    const sought = new Set(this.#doubtful);
    const parents = new Set([...sought].map(parentOf));
    const found: string[] = [];
    let busy = false;
    let open = parents.size;
    for (const parent of parents) {
      this.#ask(link, "getChildren", { path: parent, watch: false }, ({ err }, frame) => {
        if (isPassingCode(err)) busy = true;
        const children = err === 0 ? decodeResponse("getChildren", frame, replyHeaderBytes).children : [];
        const paths = children.map((name) => joinPath(parent, name));
        found.push(...paths.filter((path) => isOneOf(sought, path)));
        open -= 1;
        if (open === 0) this.#looked(sought, found, busy || lags());
      });
    }
  }

  #looked(sought: ReadonlySet<string>, found: readonly string[], busy: boolean): void {
    this.#looking = false;
    if (busy) return this.#later();
    for (const path of found) this.#paths.add(path);
    for (const path of sought) this.#doubtful.delete(path);
    this.#sweep();
  }

  /** Sends a request. If the connection ends first, `up` starts again on the next one. */
  #ask<K extends OpName>(
    link: Link,
    op: K,
    request: RequestOf<K>,
    answered: (header: ReplyHeader, frame: Buffer) => void,
  ): void {
    const packet = new PlainPacket(this.#runtime.nowMs(), (header, frame) => {
      if (this.#link !== null) answered(header, frame);
    });
    link.send(op, request, packet);
  }

  #forget(path: string): void {
    this.#asked.delete(path);
    this.#paths.delete(path);
    if (this.#paths.size === 0 && this.#doubtful.size === 0) this.#end();
  }

  /** Tries again later: the server was too busy for this path, or for the look. */
  #later(path?: string): void {
    if (path !== undefined) this.#asked.delete(path);
    this.#cancelPause ??= this.#runtime.setTimer(askAgainMs, () => {
      this.#cancelPause = null;
      this.#sweep();
    });
  }

  #end(): void {
    const link = this.#link;
    if (link === null) return;
    this.#link = null;
    this.#cancelPause?.();
    link.listen(null);
    this.#cleared();
  }
}

type CreateStep = Extract<MultiOp, { readonly op: "create" | "create2" | "createContainer" }>;

function isEphemeralCreate(step: MultiOp): step is CreateStep {
  return (step.op === "create" || step.op === "create2") && isEphemeral(step.request.flags);
}

/**
 * Whether the name is ours alone: an attempt has put a UUID in front of its node's name. A UUID in the name of the lock
 * does not count.
 */
function isOursAlone(path: string): boolean {
  return parseProtectedName(baseName(path)) !== null;
}

function isEphemeral(flags: number): boolean {
  return flags === CreateFlags.ephemeral || flags === CreateFlags.ephemeralSequential;
}

/** Whether `path` is one of `asked`, perhaps with a sequence number, which has ten characters, or eleven with its sign. */
function isOneOf(asked: ReadonlySet<string>, path: string): boolean {
  if (asked.has(path)) return true;
  return sequence.test(path) && (asked.has(path.slice(0, -10)) || asked.has(path.slice(0, -11)));
}
