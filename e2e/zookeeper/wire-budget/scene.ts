import { eventually, type TraceEntry, type ZooKeeperProxy } from "@holdfast/test-servers";
import type { OpName } from "@holdfast/zk-protocol";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import type { CuratorClient } from "../../support/curator/java-peer.js";

/** What an operation costs on the wire. */
export interface Cost {
  /** All requests, also those that no caller waits for. */
  readonly requests: number;
  /** Round trips that the caller waits for, one after the other. */
  readonly awaited: number;
}

/** How one side carries out an operation, and what it must cost. */
export interface Side<C> extends Cost {
  /** Prepares, and calls `cost` of the scene once. */
  readonly run: (scene: Scene<C>) => Promise<void>;
}

/** One line of the table. Curator's figures are those of 5.4.0. Ours takes no more round trips, unless `dearer` says why. */
export interface Row {
  readonly operation: string;
  /** What exists before: the lock's path, or also the two paths of a semaphore below it. Default: only the parent. */
  readonly there?: "lock" | "semaphore";
  readonly ours: Side<ZooKeeperLocks>;
  readonly curator: Side<CuratorClient>;
  /** Ours must take fewer round trips. */
  readonly fewer?: boolean;
  /** The reason, if ours takes one round trip more. */
  readonly dearer?: string;
}

/** Not counted: keep-alive, and what Curator's client sends for itself and in the background. */
const aside: readonly string[] = ["ping", "sync", "checkWatches", "removeWatches", "setWatches2"];

export interface CostOptions {
  /** Requests that the caller does not wait for: their answers are held back until the work is over. */
  readonly unawaited?: OpName;
  /** How many of the last requests the Java peer adds: it reads the node of its grant. */
  readonly peerAsks?: number;
}

/** Counts one side of one row. */
export class Scene<C> {
  readonly client: C;
  /** Another client of ours, whose connection does not go through the link. */
  readonly rival: ZooKeeperLocks;
  /** The proxy between the client and the server. */
  readonly link: ZooKeeperProxy;
  readonly path: string;
  counted: Cost | null = null;
  /** The counted requests, one a line with its flight, for failure messages. */
  sent = "";

  constructor(client: C, rival: ZooKeeperLocks, link: ZooKeeperProxy, path: string) {
    this.client = client;
    this.rival = rival;
    this.link = link;
    this.path = path;
  }

  /** Counts what `work` sends until it is over. */
  async cost<T>(work: () => Promise<T>, { unawaited, peerAsks = 0 }: CostOptions = {}): Promise<T> {
    await this.quiet();
    this.link.reset();
    const held = unawaited === undefined ? null : this.link.holdReply({ op: unawaited });
    const done = await work();
    if (unawaited !== undefined) await this.asked(unawaited);
    const requests = this.#asked();
    held?.release();
    this.sent = requests.map(({ op, flight, path }) => `${flight} ${op} ${path}`).join("\n");
    const flights = requests
      .filter(({ op }) => op !== unawaited)
      .map(({ connection, flight }) => `${connection} ${flight}`);
    this.counted = { requests: requests.length - peerAsks, awaited: new Set(flights).size - peerAsks };
    return done;
  }

  /** Resolves with the next answer to such a request, or one that has come since `cost` began. */
  async answered(op: OpName, times = 1): Promise<void> {
    const answers = () => this.link.trace.filter((entry) => entry.kind === "reply" && entry.op === op);
    await eventually(() => answers().length >= times, { what: `${times} answers to ${op}`, everyMs: 5 });
  }

  /** Resolves with the first such request since `cost` began. */
  async asked(op: OpName): Promise<void> {
    await this.link.waitFor((entry) => entry.kind === "request" && entry.op === op);
  }

  /** Waits until all requests are answered. */
  async quiet(): Promise<void> {
    const open = (): number => {
      const of = (kind: TraceEntry["kind"]) => this.link.trace.filter((entry) => entry.kind === kind).length;
      return of("request") - of("reply");
    };
    await eventually(() => open() <= 0, { what: "answers to all requests", everyMs: 5 });
  }

  #asked(): TraceEntry[] {
    const requests = this.link.trace.filter(({ kind, op }) => kind === "request" && op !== "connect");
    // A client that reconnects first sets its watches on the new connection. That request is not counted.
    const restores = (entry: TraceEntry): boolean =>
      entry.op === "setWatches" &&
      requests.find(({ connection }) => connection === entry.connection) === entry;
    return requests.filter(
      (entry) =>
        !aside.includes(entry.op) && !restores(entry) && !(entry.path ?? "").startsWith("/zookeeper"),
    );
  }
}
