import type { Millis } from "@holdfast/core";
import {
  CreateFlags,
  decodeResponse,
  encodeRequest,
  type MultiOp,
  type OpName,
  opCodes,
  type ReplyHeader,
  type RequestOf,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import type { Link } from "../client/link.js";
import type { LinkListener } from "../client/link-listener.js";
import type { Packet } from "../client/packet.js";
import { noPaths, type WatchedPaths } from "../client/set-watches.js";
import { saysNoNode } from "./errors.js";
import type { Settle } from "./types.js";

/** A name with a UUID in it is nobody else's, so what has it may be deleted unseen. */
const unique = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const sequence = /^-?\d{9,10}$/;

/**
 * The ephemeral nodes of a session over an adopted client. When our lease ends first, the client may still get its session back,
 * and we may not close it: nodes of a lock that nobody here holds any more would block everybody for as long as the client
 * lives. So they are deleted one by one as soon as the client is connected.
 */
export class Leftovers implements LinkListener {
  readonly #paths = new Set<string>();
  /** Creates without an answer: the paths as asked for, to which the server may have added a number. */
  readonly #doubtful = new Set<string>();
  /** Resolves when nothing is left, or nothing more can be done. */
  readonly done: Promise<void>;
  #link: Link | null = null;
  #cleared!: () => void;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#cleared = resolve;
    });
  }

  /** Looks on as `settle` gets its outcome. */
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
        else if (!(outcome.error instanceof ZooKeeperError)) this.#doubtful.add(path);
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

  /** As if each step had been sent alone, except that all were applied or none. */
  #trackAll<T>({ ops }: RequestOf<"multi">, settle: Settle<T>): Settle<T> {
    const asked = ops.flatMap((step) => (isEphemeralCreate(step) ? [step.request.path] : []));
    if (asked.length === 0) return settle;
    return (outcome) => {
      if (!outcome.ok) {
        if (!(outcome.error instanceof ZooKeeperError)) for (const path of asked) this.#doubtful.add(path);
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

  /** Takes over the link until everything is gone or the client's session is. */
  clear(link: Link, nowMs: Millis): void {
    this.#link = link;
    link.listen(this);
    if (link.stopped || (this.#doubtful.size === 0 && this.#paths.size === 0)) this.#end();
    else if (link.up) this.#sweep(nowMs);
  }

  /** Leaves what is left to the end of the client's session. */
  giveUp(): void {
    this.#end();
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
  down(): void {}

  up(): void {
    this.#sweep(0);
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

  #sweep(sentAtMs: Millis): void {
    const link = this.#link;
    if (link === null) return;
    if (this.#doubtful.size === 0 && this.#paths.size === 0) return this.#end();
    link.batch(() => {
      for (const path of this.#paths) this.#delete(link, path, sentAtMs);
      if (this.#doubtful.size > 0) this.#lookForDoubtful(link, sentAtMs);
    });
  }

  #delete(link: Link, path: string, sentAtMs: Millis): void {
    const body = encodeRequest("delete", { path, version: -1 });
    const answered = (): void => {
      // Refused for good (no permission) is as much as can be done.
      this.#paths.delete(path);
      if (this.#paths.size === 0 && this.#doubtful.size === 0) this.#end();
    };
    link.send(opCodes.delete, body, packetOf(sentAtMs, answered));
  }

  #lookForDoubtful(link: Link, sentAtMs: Millis): void {
    const answered = (header: ReplyHeader, body: Buffer): void => {
      const own = header.err === 0 ? decodeResponse("getEphemerals", body).ephemerals : [];
      for (const asked of this.#doubtful) {
        for (const path of own) if (isNodeOf(asked, path)) this.#paths.add(path);
      }
      this.#doubtful.clear();
      this.#sweep(sentAtMs);
    };
    link.send(
      opCodes.getEphemerals,
      encodeRequest("getEphemerals", { prefix: null }),
      packetOf(sentAtMs, answered),
    );
  }

  #end(): void {
    const link = this.#link;
    if (link === null) return;
    this.#link = null;
    link.listen(null);
    this.#cleared();
  }
}

type CreateStep = Extract<MultiOp, { readonly op: "create" | "create2" | "createContainer" }>;

function isEphemeralCreate(step: MultiOp): step is CreateStep {
  return (step.op === "create" || step.op === "create2") && isEphemeral(step.request.flags);
}

function isEphemeral(flags: number): boolean {
  return flags === CreateFlags.ephemeral || flags === CreateFlags.ephemeralSequential;
}

function isNodeOf(asked: string, path: string): boolean {
  return (
    path === asked ||
    (path.startsWith(asked) && unique.test(asked) && sequence.test(path.slice(asked.length)))
  );
}

/** A connection that ends first is followed by another, on which `up` begins again. */
function packetOf(sentAtMs: Millis, answered: Packet["answered"]): Packet {
  return { sentAtMs, answered, unanswered: () => {} };
}
