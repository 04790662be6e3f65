import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { TestServerError } from "../errors.js";
import { eventually } from "../eventually.js";
import type { RedisInstall } from "../install/installs.js";
import { logTail, makeScratchFolder, removeScratchFolder } from "../process/scratch-folder.js";
import { commandAt, loopback, type ServerPlace } from "../process/server-place.js";
import { describeExit, TetheredProcess } from "../process/tethered-process.js";
import type { RespValue } from "../proxy/resp/resp-value.js";
import { RedisConnection, type RedisConnectionOptions, type RedisWord } from "./redis-connection.js";
import type { RedisSecrets } from "./redis-options.js";

/** What a server is started with. */
export interface RedisPlace {
  install: RedisInstall;
  port: number;
  /** `redis` or `sentinel`: for its folder and for messages. */
  name: string;
  /** Lines of its configuration besides address and TLS. */
  lines: readonly string[];
  secrets: RedisSecrets;
  startWithinMs: number;
  /** Default: on 127.0.0.1. */
  at?: ServerPlace | undefined;
}

/**
 * A Redis program as a child process, a data server or a Sentinel. It runs on 127.0.0.1, unless placed elsewhere, with
 * its files in a temporary folder. It ends with this process, whatever kills this process.
 */
export class RedisProcess {
  /** The address that it listens at. */
  readonly host: string;
  /** The port that it listens at. */
  readonly port: number;
  /** `host:port`. */
  readonly address: string;
  /** Where it keeps its data. */
  readonly dataDir: string;
  readonly #place: RedisPlace;
  readonly #folder: string;
  readonly #log: string;
  readonly #program: string;
  #process: TetheredProcess | undefined;
  #removed = false;

  constructor(place: RedisPlace) {
    this.host = place.at?.address ?? loopback;
    this.port = place.port;
    this.address = `${this.host}:${place.port}`;
    this.#place = place;
    this.#folder = makeScratchFolder(place.name);
    this.#log = join(this.#folder, `${place.name}.log`);
    this.dataDir = join(this.#folder, "data");
    mkdirSync(this.dataDir);
    writeFileSync(this.#config, this.#lines().join("\n"));
    this.#program = place.install.server;
    if (basename(this.#program).startsWith("redis-check-")) {
      // It is the same program as the server, and its name tells it which of the two to be.
      this.#program = join(this.#folder, "redis-server");
      symlinkSync(place.install.server, this.#program);
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

  /** What a client must trust (`ca`) if the server uses TLS; undefined without TLS. */
  get tls(): { readonly ca: string } | undefined {
    const { tls } = this.#place.secrets;
    return tls === undefined ? undefined : { ca: tls.certificate };
  }

  /** The path of its log, which `stop` removes. */
  get logFile(): string {
    return this.#log;
  }

  /** The end of the server's log, for error messages. */
  logTail(lines?: number): string {
    return logTail(this.#log, lines);
  }

  /** Starts the process without waiting for it to serve. */
  async spawn(): Promise<void> {
    if (this.#removed) throw new TestServerError(`${this.describe()} was stopped and its data removed`);
    if (this.running) throw new TestServerError(`${this.describe()} is already running`);
    const { name, at } = this.#place;
    this.#process = await TetheredProcess.spawn({
      ...commandAt(at, this.#program, [this.#config, ...(name === "sentinel" ? ["--sentinel"] : [])]),
      cwd: this.#folder,
      logFile: this.#log,
      scratchFolder: this.#folder,
    });
  }

  /**
   * Waits until it answers and the answer comes from our process.
   * @throws TestServerError with the end of its log.
   */
  async ready(withinMs: number = this.#place.startWithinMs): Promise<void> {
    let ended: string | undefined;
    await eventually(
      async () => {
        const exit = this.#process?.exit;
        if (exit !== undefined) ended = describeExit(exit);
        if (ended !== undefined) return true;
        const { process_id: pid, loading = "0" } = await this.info();
        const serving = Number(pid);
        if (serving !== this.pid) ended = `another server, pid ${serving}, has port ${this.port}`;
        return ended !== undefined || loading === "0";
      },
      { what: `${this.describe()} to serve`, withinMs, everyMs: 5, detail: () => this.logTail() },
    );
    if (ended !== undefined)
      throw new TestServerError(`${this.describe()} did not start: ${ended}; ${this.logTail()}`);
  }

  /** Ends it for good and removes its files. Does no harm if it was stopped before. */
  async stop(): Promise<void> {
    this.#removed = true;
    await this.#process?.kill();
    removeScratchFolder(this.#folder);
  }

  /** Sends SIGKILL, as a crash would; the files stay for `restart`. Resolves when the process is gone. */
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
   * Sends one command on a connection of its own, with all rights, and resolves with the reply.
   *
   * @throws RedisReplyError when the server answers with an error.
   * @throws UnreachableError when it does not answer within 2 s.
   */
  async command(...words: readonly RedisWord[]): Promise<RespValue> {
    using connection = await this.connect();
    return await connection.command(...words);
  }

  /** A connection with all rights, for more than one command. The caller closes it. */
  connect(options: Partial<RedisConnectionOptions> = {}): Promise<RedisConnection> {
    const { admin } = this.#place.secrets;
    const ca = this.tls?.ca;
    return RedisConnection.connect({
      host: this.host,
      port: this.port,
      ...(this.#knowsUsers ? admin : {}),
      ...(ca === undefined ? {} : { ca }),
      ...options,
    });
  }

  /** The fields of INFO, all or those of one section. */
  async info(section = "default"): Promise<Readonly<Record<string, string>>> {
    const text = String(await this.command("INFO", section));
    const fields = text.split("\r\n").flatMap((line) => {
      const colon = line.indexOf(":");
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    });
    return Object.fromEntries(fields);
  }

  /** The id that a process draws at its start. Another id means that the memory of the server began anew. */
  async runId(): Promise<string> {
    const { run_id: runId } = await this.info("server");
    if (runId === undefined) throw new TestServerError(`${this.describe()} told no run id`);
    return runId;
  }

  /** `stop()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** `redis on port 20278`. */
  protected describe(): string {
    return `${this.#place.name} on port ${this.port}`;
  }

  /** Starts it again, with its configuration file as the server left it. With `emptied` it has no data. */
  protected async startAgain(emptied: boolean): Promise<void> {
    await this.#process?.kill();
    if (emptied && existsSync(this.dataDir)) {
      rmSync(this.dataDir, { recursive: true });
      mkdirSync(this.dataDir);
    }
    await this.spawn();
    await this.ready();
  }

  get #config(): string {
    return join(this.#folder, `${this.#place.name}.conf`);
  }

  /** Sentinels are given no users. */
  get #knowsUsers(): boolean {
    return this.#place.name !== "sentinel";
  }

  #living(): TetheredProcess {
    if (this.#process === undefined || !this.#process.running) {
      throw new TestServerError(`${this.describe()} is not running`);
    }
    return this.#process;
  }

  #lines(): string[] {
    const { port, lines, secrets } = this.#place;
    const common = [`bind ${this.host}`, `dir ${this.dataDir}`, "daemonize no", 'logfile ""'];
    // In protected mode a server without a password would refuse clients from other addresses.
    if (this.host !== loopback) common.push("protected-mode no");
    if (secrets.tls === undefined) return [...common, `port ${port}`, ...lines, ""];
    const certificate = join(this.#folder, "certificate.pem");
    const key = join(this.#folder, "key.pem");
    writeFileSync(certificate, secrets.tls.certificate);
    writeFileSync(key, secrets.tls.key, { mode: 0o600 });
    const tls = [
      "port 0",
      `tls-port ${port}`,
      `tls-cert-file ${certificate}`,
      `tls-key-file ${key}`,
      `tls-ca-cert-file ${certificate}`,
      "tls-auth-clients no",
      "tls-replication yes",
    ];
    return [...common, ...tls, ...lines, ""];
  }
}
