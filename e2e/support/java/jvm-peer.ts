import { eventually } from "@holdfast/test-servers";
import { LineProcess, processState } from "../process/line-process.js";

const startWithinMs = 30_000;

const jvmOptions = [
  // Many short-lived JVMs run on few cores, so they should start fast and stay small.
  "-Xmx256m",
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xshare:auto",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  // Curator also takes the IP text in its nodes from here. With IPv4 that text is the same on all machines.
  "-Djava.net.preferIPv4Stack=true",
];

/** Starts a main class that reports the version of its library when it is up. */
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

/** A JVM with clients in it, on this machine. It ends with this process, however this process ends. */
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

  /** Stops the whole process with SIGSTOP. Resolves when it stands still. Nothing is renewed in the meantime. */
  async pause(): Promise<void> {
    this.#lines.signal("SIGSTOP");
    await eventually(() => processState(this.pid) === "T", { what: `JVM ${this.pid} to stand still` });
  }

  resume(): void {
    this.#lines.signal("SIGCONT");
  }

  /** Sends SIGKILL. What the clients hold stays at the server until their sessions or leases are over. */
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
