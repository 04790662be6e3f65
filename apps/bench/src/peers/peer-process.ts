import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Request } from "./protocol.js";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

/** A peer cannot run on this machine. The message says what is missing. */
export class MissingPeer extends Error {
  override readonly name: string = "MissingPeer";
}

const startWithinMs = 60_000;
const stderrKept = 2_048;

interface Waiting {
  resolve(message: Message): void;
  reject(error: Error): void;
}

type Message = {
  readonly ready?: Readonly<Record<string, string>>;
  readonly missing?: string;
  readonly ok?: unknown;
  readonly error?: string;
};

/**
 * A process with one peer in it. It gets one request at a time. It ends when its input ends, so also with this process.
 */
export class PeerProcess {
  readonly pid: number;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<void>;
  #waiting: Waiting | undefined;
  #stderr = "";
  #over: Error | undefined;
  #versions: Readonly<Record<string, string>> = {};

  private constructor({ program, args }: Command) {
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.pid = this.#child.pid ?? 0;
    this.#child.stdin.on("error", () => {}); // its end says more
    this.#child.stderr.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-stderrKept);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(JSON.parse(line) as Message);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.on("error", (error) => this.#end(error, resolve));
      this.#child.on("close", (code, signal) => {
        this.#end(new Error(`its process ended with ${code ?? signal}: ${this.#stderr.trim()}`), resolve);
      });
    });
  }

  /** @throws MissingPeer if the process reports that its library is missing. */
  static async start(command: Command): Promise<PeerProcess> {
    const process = new PeerProcess(command);
    try {
      const { ready, missing } = await process.#next(startWithinMs, "start");
      if (missing !== undefined) throw new MissingPeer(missing);
      if (ready === undefined) throw new Error("it began with something else than its versions");
      process.#versions = ready;
      return process;
    } catch (error) {
      await process.kill();
      throw error;
    }
  }

  /** The versions of its libraries and of its language. */
  get versions(): Readonly<Record<string, string>> {
    return this.#versions;
  }

  /** Rejects with the peer's error, with its end, or if it does not answer in time. After that, kill it. */
  async ask<T>(request: Request, withinMs: number): Promise<T> {
    const answer = this.#next(withinMs, request.do);
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    const { ok, error } = await answer;
    if (error !== undefined) throw new Error(`${request.do}: ${error}`);
    return ok as T;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #next(withinMs: number, what: string): Promise<Message> {
    if (this.#over !== undefined) throw this.#over;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject };
        timer = setTimeout(() => reject(new Error(`${what}: no answer within ${withinMs} ms`)), withinMs);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #end(error: Error, resolve: () => void): void {
    this.#over ??= error;
    this.#waiting?.reject(this.#over);
    resolve();
  }
}
