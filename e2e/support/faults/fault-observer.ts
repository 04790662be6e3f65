import { eventually } from "@holdfast/test-servers";
import { type Client, CreateMode, createClient, State } from "node-zookeeper-client";

/**
 * Reads what a server holds through the stock client library, so that the tested code does not judge itself. It needs a server
 * without faults, since the library never notices a silent one.
 */
export class FaultObserver implements AsyncDisposable {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(connectString: string, sessionTimeoutMs = 10_000): Promise<FaultObserver> {
    const client = createClient(connectString, { sessionTimeout: sessionTimeoutMs });
    client.connect();
    const observer = new FaultObserver(client);
    await eventually(() => client.getState() === State.SYNC_CONNECTED, {
      what: `the observer to reach ${connectString}`,
    });
    return observer;
  }

  /** Whether the library believes that it is connected. */
  get connected(): boolean {
    return this.#client.getState() === State.SYNC_CONNECTED;
  }

  /** Names below `path`; none when `path` itself is not there. */
  children(path: string): Promise<string[]> {
    return new Promise((resolve, reject) => {
      this.#client.getChildren(path, (error, names) => {
        if (!error) resolve(names);
        else if (isNoNode(error)) resolve([]);
        else reject(error);
      });
    });
  }

  /**
   * Resolves when nothing is below `path`. This may take a moment, since a follower may still show what the leader has deleted.
   */
  async empty(path: string): Promise<void> {
    await eventually(async () => (await this.children(path)).length === 0, {
      what: `nothing to be left below ${path}`,
      withinMs: 20_000,
    });
  }

  /** The czxid, which is our token, of each child of `path` that is still there. */
  async czxids(path: string): Promise<bigint[]> {
    const names = await this.children(path);
    const found = await Promise.all(names.map((name) => this.czxid(`${path}/${name}`)));
    return found.filter((czxid) => czxid !== null);
  }

  /** `null` when the node is not there. */
  czxid(path: string): Promise<bigint | null> {
    return new Promise((resolve, reject) => {
      this.#client.exists(path, (error, stat) => {
        if (error) reject(error);
        else resolve(stat ? Buffer.from(stat.czxid as unknown as Uint8Array).readBigInt64BE() : null);
      });
    });
  }

  /** Resolves when the node is not there any more. */
  async gone(path: string): Promise<void> {
    await eventually(async () => (await this.czxid(path)) === null, {
      what: `${path} to be gone`,
      everyMs: 10,
    });
  }

  createEphemeral(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#client.create(path, CreateMode.EPHEMERAL, (error, made) => {
        if (error) reject(error);
        else resolve(made);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
  }
}

function isNoNode(error: unknown): boolean {
  return (error as { name?: string }).name === "NO_NODE";
}
