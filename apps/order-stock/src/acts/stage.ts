import { fork } from "node:child_process";
import { once } from "node:events";
import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import type { Screen } from "../console/screen.js";
import { ShopClient } from "../shop/client.js";
import type { WorkerJob } from "../worker/messages.js";
import { WorkerProcess } from "../worker/worker-process.js";

export interface StageOptions {
  readonly screen: Screen;
  /** The folder of `worker.js` and `shop.js`. */
  readonly programs: URL;
  /** The servers of an existing ZooKeeper; `null` starts one when it is first needed. */
  readonly connect: string | null;
  /** Whether the server that is started is Apache's, which needs Java; default false: one inside this process. */
  readonly real?: boolean;
  /** Ends every wait of an act. */
  readonly signal: AbortSignal;
}

/** The name of the lock in acts 2 and 3. */
export const lockName = "order-stock";

/** A server of our own lets sessions be as short as one second, so that an act does not wait long for one to end. */
const tickTimeMs = 500;

/** What the acts use: the shop, a ZooKeeper, and the workers. Disposing ends everything that it has started. */
export class Stage implements AsyncDisposable {
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly shop: ShopClient;
  readonly #options: StageOptions;
  readonly #shopPort: number;
  readonly #closing: (() => Promise<void>)[];
  #zookeeper: Promise<{ connect: string; locks: ZooKeeperLocks }> | null = null;

  private constructor(options: StageOptions, shop: OpenShop) {
    this.screen = options.screen;
    this.signal = options.signal;
    this.shop = shop.client;
    this.#options = options;
    this.#shopPort = shop.port;
    this.#closing = [shop.close];
  }

  static async open(options: StageOptions): Promise<Stage> {
    return new Stage(options, await openShop(new URL("shop.js", options.programs)));
  }

  /** The servers of acts 2 and 3, with a connected provider for looking at the lock. */
  zookeeper(): Promise<{ connect: string; locks: ZooKeeperLocks }> {
    this.#zookeeper ??= this.#openZooKeeper();
    return this.#zookeeper;
  }

  /** Starts workers and waits until each is ready to order. The caller ends them. */
  async hire(jobs: readonly Omit<WorkerJob, "shopPort">[]): Promise<Cast> {
    const program = new URL("worker.js", this.#options.programs);
    const cast = new Cast(
      jobs.map((job) => new WorkerProcess({ program, job: { ...job, shopPort: this.#shopPort } })),
      this.signal,
    );
    try {
      await Promise.all(cast.workers.map((worker) => worker.said("ready", 60_000)));
      return cast;
    } catch (error) {
      await cast[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
  }

  async #openZooKeeper(): Promise<{ connect: string; locks: ZooKeeperLocks }> {
    const { real = false } = this.#options;
    let { connect } = this.#options;
    if (connect === null) {
      if (real) this.screen.line(this.screen.styled("dim", "Starting a ZooKeeper server ..."));
      const server = real
        ? await startZooKeeper({ tickTimeMs })
        : await startEmbeddedZooKeeper({ tickTimeMs });
      this.#closing.push(() => server.stop());
      connect = server.connectString;
    }
    const locks = zookeeperLocks({ connect });
    this.#closing.push(async () => {
      await locks.close({ releaseTimeoutMs: 1_000 });
    });
    await locks.ready({ signal: this.signal });
    this.screen.line(
      this.screen.styled(
        "dim",
        `ZooKeeper at ${connect}${this.#options.connect === null && !real ? ", inside this process" : ""}`,
      ),
    );
    return { connect, locks };
  }
}

/** The workers of one act. Disposing ends those that have not ended by themselves. */
export class Cast implements AsyncDisposable {
  readonly workers: readonly WorkerProcess[];
  readonly #signal: AbortSignal;

  /** @param signal ends every wait for a worker. */
  constructor(workers: readonly WorkerProcess[], signal: AbortSignal) {
    this.workers = workers;
    this.#signal = signal;
    if (signal.aborted) this.#interrupt();
    else signal.addEventListener("abort", this.#interrupt, { once: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#interrupt);
    await Promise.all(this.workers.map((worker) => worker.end()));
  }

  readonly #interrupt = (): void => {
    for (const worker of this.workers) worker.interrupt(this.#signal.reason as Error);
  };
}

interface OpenShop {
  readonly client: ShopClient;
  readonly port: number;
  close(): Promise<void>;
}

async function openShop(program: URL): Promise<OpenShop> {
  const child = fork(program, [], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const exited = once(child, "exit");
  const [news] = (await Promise.race([
    once(child, "message"),
    exited.then(([code, by]) => {
      throw new Error(`the shop ended with ${by ?? code} before it opened`);
    }),
  ])) as [{ port: number }];
  const client = await ShopClient.connect(news.port);
  return {
    client,
    port: news.port,
    close: async () => {
      client.close();
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
