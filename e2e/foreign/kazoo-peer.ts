import { fileURLToPath } from "node:url";
import { findKazoo } from "@holdfast/test-servers";
import type { HeldNode } from "../support/curator/java-peer.js";
import type { Contention } from "../support/process/contend.js";
import { LineProcess } from "../support/process/line-process.js";
import type { SessionKey } from "./target.js";

const peerFile = fileURLToPath(new URL("python/peer.py", import.meta.url));
const startWithinMs = 30_000;
const answerWithinMs = 30_000;

/** Starts a Python process with kazoo on this machine. It ends with this process, even if this process is killed. */
export async function startKazooPeer(): Promise<KazooPeer> {
  const install = findKazoo();
  if (install === undefined) {
    throw new Error("no kazoo for Python on this machine; run: npx holdfast-servers ensure --only kazoo");
  }
  // -B: Python must write no compiled files, because the sources lie in the repository.
  const lines = new LineProcess(install.python, ["-B", peerFile]);
  try {
    const [version = ""] = await lines.event("start", (event) => event === "started", startWithinMs);
    return new KazooPeer(lines, version);
  } catch (error) {
    await lines.kill();
    throw error;
  }
}

export class KazooPeer implements AsyncDisposable {
  readonly version: string;
  readonly #lines: LineProcess;
  readonly #clients = new Set<KazooClient>();
  #lastName = 0;

  constructor(lines: LineProcess, version: string) {
    this.#lines = lines;
    this.version = version;
  }

  /** A client with a session of its own, by default of 10 s; resolves when it is connected. */
  async connect(options: { connect: string; sessionTimeoutMs?: number }): Promise<KazooClient> {
    const { connect, sessionTimeoutMs = 10_000 } = options;
    const name = `client-${++this.#lastName}`;
    const client = new KazooClient(this.#lines, name, () => this.#clients.delete(client));
    await this.#lines.request("connect", [name, connect, String(sessionTimeoutMs)], answerWithinMs);
    this.#clients.add(client);
    return client;
  }

  /** Closes every session, then ends the process. */
  async close(): Promise<void> {
    try {
      await Promise.all([...this.#clients].map((client) => client.close()));
    } finally {
      await this.#lines.end(5_000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export type NodeVerb = "create" | "create-ephemeral" | "set" | "delete" | "exists" | "children";

/** A `KazooClient`. It has one session at a time, and opens a new one when a session is lost. */
export class KazooClient {
  /** The states that its listener got, oldest first: `CONNECTED`, `SUSPENDED`, `LOST`. */
  readonly states: readonly string[];
  readonly #lines: LineProcess;
  readonly #name: string;
  readonly #onClose: () => void;
  #lastName = 0;

  constructor(lines: LineProcess, name: string, onClose: () => void) {
    this.#lines = lines;
    this.#name = name;
    this.#onClose = onClose;
    const states: string[] = [];
    this.states = states;
    lines.listen((event, [client, state = ""]) => {
      if (event === "state" && client === name) states.push(state);
    });
  }

  async session(): Promise<SessionKey> {
    const [id = "", password = ""] = await this.#ask("session");
    return { id: BigInt(`0x${id}`), password: Buffer.from(password, "hex") };
  }

  /** A new `Lock`; `identifier` becomes the data of its node. */
  async lock(path: string, identifier = ""): Promise<KazooLock> {
    const name = this.#newName();
    await this.#lines.request("lock", [name, this.#name, path, identifier], answerWithinMs);
    return new KazooLock(this.#lines, name);
  }

  /** A `DataWatch`: resolves when it is set; its first call reports the present state. */
  watchData(path: string): Promise<WatchLog> {
    return this.#watch("watchData", "data", path);
  }

  /** A `ChildrenWatch` on an existing node. */
  watchChildren(path: string): Promise<WatchLog> {
    return this.#watch("watchChildren", "children", path);
  }

  async node(verb: NodeVerb, path: string, data = ""): Promise<string[]> {
    return this.#ask("node", verb, path, data);
  }

  /** Runs `contender.py`; see there. */
  async contend(contention: Contention, withinMs: number): Promise<void> {
    const { path, counterFile, logFile, grants, label } = contention;
    const args = [this.#name, path, counterFile, logFile, String(grants), label];
    await this.#lines.request("contend", args, withinMs);
  }

  /** Runs `tour.py`: returns the outcome of each step by its name. */
  async tour(root: string): Promise<Record<string, string>> {
    const said = await this.#ask("tour", root);
    const outcomes: Record<string, string> = {};
    for (let at = 0; at < said.length; at += 2) outcomes[said[at] ?? ""] = said[at + 1] ?? "";
    return outcomes;
  }

  async close(): Promise<void> {
    await this.#ask("close");
    this.#onClose();
  }

  async #watch(command: string, event: string, path: string): Promise<WatchLog> {
    const name = this.#newName();
    const calls: string[][] = [];
    this.#lines.listen((kind, [watch, ...values]) => {
      if (kind === event && watch === name) calls.push(values);
    });
    await this.#lines.request(command, [name, this.#name, path], answerWithinMs);
    return { calls };
  }

  #newName(): string {
    return `${this.#name}/${++this.#lastName}`;
  }

  #ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, [this.#name, ...args], answerWithinMs);
  }
}

/** The values of each call of a watcher, oldest first. */
export interface WatchLog {
  readonly calls: readonly (readonly string[])[];
}

/** One `Lock` of kazoo. */
export class KazooLock {
  readonly #lines: LineProcess;
  readonly #name: string;

  constructor(lines: LineProcess, name: string) {
    this.#lines = lines;
    this.#name = name;
  }

  /**
   * `waitMs: 0` does not block. Without `waitMs` kazoo waits for ever, but this request fails after 60 s. `null` if not granted.
   */
  async acquire(options: { waitMs?: number } = {}): Promise<HeldNode | null> {
    const { waitMs = -1 } = options;
    const withinMs = waitMs < 0 ? 60_000 : waitMs + answerWithinMs;
    const args = [this.#name, String(waitMs)];
    const [granted, path = "", czxid = ""] = await this.#lines.request("acquire", args, withinMs);
    return granted === "true" ? { path, czxid: BigInt(czxid) } : null;
  }

  /** False if the lock was not held. */
  async release(): Promise<boolean> {
    return (await this.#lines.request("release", [this.#name], answerWithinMs))[0] === "true";
  }

  /** Makes a pending `acquire` fail with `CancelledError`. */
  async cancel(): Promise<void> {
    await this.#lines.request("cancel", [this.#name], answerWithinMs);
  }

  /** The identifiers of the holder and the waiters, in kazoo's order. */
  contenders(): Promise<string[]> {
    return this.#lines.request("contenders", [this.#name], answerWithinMs);
  }
}
