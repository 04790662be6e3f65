import { eventually } from "@holdfast/test-servers";
import { LineProcess, processState } from "../process/line-process.js";

const startWithinMs = 30_000;

const jvmOptions = [
  // Many short-lived JVMs on few cores: start fast, stay small.
  "-Xmx256m",
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xshare:auto",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  // The IP text that Curator puts into its nodes comes from here too; IPv4 keeps it the same on all machines.
  "-Djava.net.preferIPv4Stack=true",
];

/** Starts a main class that says its library's version when it is up. */
export async function startJvm<P>(
  classPath: string,
  main: string,
  peerOf: (lines: LineProcess, version: string) => P,
): Promise<P> {
  const lines = new LineProcess("java", [...jvmOptions, "-cp", classPath, main]);
  try {
    const [version = ""] = await lines.event("start", (event) => event === "started", startWithinMs);
    return peerOf(lines, version);
  } catch (error) {
    await lines.kill();
    throw error;
  }
}

export interface JvmClient<O> {
  start(options: O): Promise<void>;
  close(): Promise<void>;
}

/** A JVM with clients in it, on this machine. It dies with this process, however that dies. */
export class JvmPeer<C extends JvmClient<O>, O> implements AsyncDisposable {
  readonly pid: number;
  readonly #lines: LineProcess;
  readonly #clientOf: (lines: LineProcess, name: string, onClosed: () => void) => C;
  readonly #clients = new Set<C>();
  #lastName = 0;

  constructor(lines: LineProcess, clientOf: (lines: LineProcess, name: string, onClosed: () => void) => C) {
    this.#lines = lines;
    this.#clientOf = clientOf;
    this.pid = lines.pid;
  }

  /** A client with a session, or an id and connections, of its own; resolves when it is connected. */
  async connect(options: O): Promise<C> {
    this.#lastName += 1;
    const client = this.#clientOf(this.#lines, `client-${this.#lastName}`, () =>
      this.#clients.delete(client),
    );
    await client.start(options);
    this.#clients.add(client);
    return client;
  }

  /** Stops the whole process in its tracks (SIGSTOP); resolves when it stands still. Nothing is renewed meanwhile. */
  async pause(): Promise<void> {
    this.#lines.signal("SIGSTOP");
    await eventually(() => processState(this.pid) === "T", { what: `JVM ${this.pid} to stand still` });
  }

  resume(): void {
    this.#lines.signal("SIGCONT");
  }

  /** SIGKILL: what it holds stays at the server until sessions or leases are over. */
  kill(): Promise<void> {
    this.#clients.clear();
    return this.#lines.kill();
  }

  /** Closes every client. The process stays, for the next server. */
  async closeClients(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
  }

  /** Closes every client, then ends the process. */
  async close(): Promise<void> {
    try {
      await this.closeClients();
    } finally {
      await this.#lines.end(5_000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
