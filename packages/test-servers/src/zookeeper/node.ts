import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestServerError, UnreachableError } from "../errors.js";
import { eventually } from "../eventually.js";
import type { ZooKeeperInstall } from "../install/installs.js";
import { logTail, makeScratchFolder, removeScratchFolder } from "../process/scratch-folder.js";
import { commandAt, loopback, type ServerPlace } from "../process/server-place.js";
import { describeExit, TetheredProcess } from "../process/tethered-process.js";
import { type FourLetterOptions, fourLetterWord, type Srvr, srvr } from "./four-letter-word.js";
import { javaArguments, type NodeFiles, writeNodeFiles, type ZooKeeperOptions } from "./node-files.js";
import { writeSequences } from "./transaction-log.js";

/** What distinguishes the nodes of an ensemble; a single server has no id. */
export interface NodePlace {
  install: ZooKeeperInstall;
  port: number;
  /** 1 and up in an ensemble. */
  id?: number;
  /** The port of its AdminServer; default: it has none. */
  adminPort?: number | undefined;
  /** Lines of `zoo.cfg` that only this node has. */
  lines?: readonly string[];
  /** Default: on 127.0.0.1. */
  at?: ServerPlace | undefined;
}

/**
 * One real ZooKeeper server: a child process on 127.0.0.1 (unless placed elsewhere) with its data in a temporary
 * folder. It ends with this process, whatever kills this process.
 */
export class ZooKeeperNode {
  /** The address that it listens at. */
  readonly host: string;
  /** The client port that it listens at. */
  readonly port: number;
  /** `host:port`, for a client of only this server. */
  readonly connectString: string;
  /** The server's `myid`; 0 for a single server. */
  readonly id: number;
  /** The port at which the AdminServer answers; undefined without the option `adminServer`. */
  readonly adminPort: number | undefined;
  readonly #place: NodePlace;
  readonly #options: ZooKeeperOptions;
  readonly #folder: string;
  #files: NodeFiles;
  #process: TetheredProcess | undefined;
  #removed = false;

  constructor(place: NodePlace, options: ZooKeeperOptions) {
    this.host = place.at?.address ?? loopback;
    this.port = place.port;
    this.id = place.id ?? 0;
    this.connectString = `${this.host}:${this.port}`;
    this.adminPort = place.adminPort;
    this.#place = place;
    this.#options = options;
    this.#folder = makeScratchFolder(place.id === undefined ? "zookeeper" : `zookeeper-${place.id}`);
    try {
      this.#files = this.#write();
      if (place.id !== undefined) writeFileSync(join(this.dataDir, "myid"), `${place.id}\n`);
      if (options.sequences !== undefined) writeSequences(this.dataDir, options.sequences);
    } catch (error) {
      removeScratchFolder(this.#folder);
      throw error;
    }
  }

  /** The process id of the server itself; changes with each start. */
  get pid(): number {
    return this.#living().pid;
  }

  /** Whether the process exists. A paused one does. */
  get running(): boolean {
    return this.#process?.running ?? false;
  }

  /** Where it keeps its data. */
  get dataDir(): string {
    return this.#files.dataDir;
  }

  /** The server's own log file; `logTail()` gives its end. */
  get logFile(): string {
    return this.#files.log;
  }

  /** The end of the server's log, for error messages. */
  logTail(lines?: number): string {
    return logTail(this.#files.log, lines);
  }

  /** Starts the process without waiting for it to serve. */
  async spawn(): Promise<void> {
    if (this.#removed) throw new TestServerError(`${this.#name()} was stopped and its data removed`);
    if (this.running) throw new TestServerError(`${this.#name()} is already running`);
    this.#files = this.#write();
    const { install, at } = this.#place;
    const args = javaArguments(install, this.#files, this.#options, this);
    this.#process = await TetheredProcess.spawn({
      ...commandAt(at, install.java, args),
      cwd: this.#folder,
      logFile: this.#files.log,
      scratchFolder: this.#folder,
    });
  }

  /**
   * Waits until this server serves clients: `srvr` is answered with a mode, and the answer comes from our process. The
   * data folder in the answer to `conf` shows whether another process has the port.
   *
   * @throws TestServerError with the end of the server's log.
   */
  async ready(withinMs: number = this.#options.startWithinMs ?? 30_000): Promise<Srvr> {
    let ended: string | undefined;
    const answer = await eventually(
      async () => {
        const exit = this.#process?.exit;
        if (exit !== undefined) {
          ended = describeExit(exit);
          return "ended";
        }
        const state = await this.srvr();
        const text = await this.fourLetter("conf");
        const serving = /^dataDir=(.*)$/m.exec(text)?.[1];
        if (serving === undefined) return undefined;
        if (!serving.startsWith(this.dataDir)) {
          ended = `another server, with its data in ${serving}, has port ${this.port}`;
          return "ended";
        }
        if (!(await this.#adminAnswers())) return undefined;
        return state;
      },
      { what: `${this.#name()} to serve`, withinMs, everyMs: 25, detail: () => this.logTail() },
    );
    if (answer === "ended") {
      throw new TestServerError(`${this.#name()} did not start: ${ended}; ${this.logTail()}`);
    }
    return answer;
  }

  /** Ends the server for good and removes its data. Does no harm if it was stopped before. */
  async stop(): Promise<void> {
    this.#removed = true;
    await this.#process?.kill();
    removeScratchFolder(this.#folder);
  }

  /** Sends SIGKILL, as a crash would; the data stays for `restart`. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#living().kill();
  }

  /** Sends SIGSTOP: sockets stay open and the kernel accepts connections, but nothing answers. */
  async pause(): Promise<void> {
    await this.#living().pause();
  }

  /** Sends SIGCONT. */
  resume(): void {
    this.#living().resume();
  }

  /**
   * Kills the server if it runs and starts it again on the same port with the same data; resolves when it serves.
   * Sessions are kept, each with its full time-out again.
   */
  async restart(): Promise<void> {
    await this.#process?.kill();
    await this.spawn();
    await this.ready();
  }

  /** The answer to a four-letter word; all words are allowed, unless the option `fourLetterWords` limits them. */
  fourLetter(word: string, options: Omit<FourLetterOptions, "port" | "host"> = {}): Promise<string> {
    return fourLetterWord(word, { ...options, host: this.host, port: this.port });
  }

  /** The parsed answer to `srvr`. @throws UnreachableError */
  srvr(options: Omit<FourLetterOptions, "port" | "host"> = {}): Promise<Srvr> {
    return srvr({ ...options, host: this.host, port: this.port });
  }

  /** The mode that the server reports; undefined when it is dead, paused or without a quorum. */
  async mode(): Promise<Srvr["mode"] | undefined> {
    if (!this.running) return undefined;
    try {
      return (await this.srvr({ timeoutMs: 400 })).mode;
    } catch (error) {
      if (error instanceof UnreachableError) return undefined;
      throw error;
    }
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether the AdminServer answers. A server without a jar for it starts all the same, without an AdminServer. */
  async #adminAnswers(): Promise<boolean> {
    if (this.adminPort === undefined) return true;
    try {
      return (await fetch(`http://${this.host}:${this.adminPort}/commands/ruok`)).ok;
    } catch {
      return false;
    }
  }

  #living(): TetheredProcess {
    if (this.#process === undefined || !this.#process.running) {
      throw new TestServerError(`${this.#name()} is not running`);
    }
    return this.#process;
  }

  #write(): NodeFiles {
    const lines = [`clientPort=${this.port}`, `clientPortAddress=${this.host}`, ...(this.#place.lines ?? [])];
    return writeNodeFiles(this.#folder, lines, this.#options);
  }

  #name(): string {
    return this.id === 0 ? `ZooKeeper on port ${this.port}` : `ZooKeeper ${this.id} on port ${this.port}`;
  }
}
