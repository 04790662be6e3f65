import {
  type EmbeddedZooKeeper,
  startEmbeddedZooKeeper,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, describe } from "vitest";
import { drawn } from "../../support/share.js";

/** The server of a suite. It can be used once the suite's hooks have run. */
export interface ServerUnderTest {
  readonly connectString: string;
  /** Stops and starts the server; its nodes and sessions survive. */
  restart(): Promise<void>;
}

class Started implements ServerUnderTest {
  server: EmbeddedZooKeeper | ZooKeeperNode | null = null;

  get connectString(): string {
    return (this.server as EmbeddedZooKeeper | ZooKeeperNode).connectString;
  }

  async restart(): Promise<void> {
    await this.server?.restart();
  }
}

const servers: readonly (readonly [string, () => Promise<EmbeddedZooKeeper | ZooKeeperNode>])[] = [
  ["embedded ZooKeeper", () => startEmbeddedZooKeeper({ tickTimeMs: 500 })],
  ["ZooKeeper 3.8.0", () => startZooKeeper({ maxClientCnxns: 0 })],
];

/** Registers the suite on the embedded server and on a real one; in a run that is not full, on one of them. */
export function onServers(suite: (title: string, server: ServerUnderTest) => void): void {
  for (const [title, start] of drawn("servers below the recipes", servers, 1, ([name]) => name))
    on(title, start, suite);
}

function on(
  title: string,
  start: () => Promise<EmbeddedZooKeeper | ZooKeeperNode>,
  suite: (title: string, server: ServerUnderTest) => void,
): void {
  describe(title, () => {
    const started = new Started();
    beforeAll(async () => {
      started.server = await start();
    }, 300_000);
    afterAll(() => started.server?.stop());
    suite(title, started);
  });
}
