import { eventually } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import type { CollectorEvent, ObservedLock } from "../../src/index.js";
import {
  type ZooKeeperCollector,
  type ZooKeeperCollectorOptions,
  zookeeperCollector,
} from "../../src/zookeeper/index.js";
import { expectFiguresOfRows } from "../figures.js";

/** A collector that has read everything, and the events that it has sent. */
export class Watched implements AsyncDisposable {
  readonly collector: ZooKeeperCollector;
  readonly events: CollectorEvent[] = [];

  constructor(options: ZooKeeperCollectorOptions) {
    this.collector = zookeeperCollector({ adminPort: false, ...options });
    this.collector.onEvent((event) => this.events.push(event));
  }

  static async start(options: ZooKeeperCollectorOptions): Promise<Watched> {
    const watched = new Watched(options);
    await watched.synced();
    return watched;
  }

  async synced(): Promise<void> {
    const roots = () => this.collector.sources().filter(({ source }) => source.startsWith("watch "));
    await eventually(() => roots().every(({ state }) => state === "ok"), {
      withinMs: 20_000,
      what: "all roots read",
    });
  }

  /** Waits until the row is as wanted. */
  async row(key: string, wished: (row: ObservedLock) => boolean): Promise<ObservedLock> {
    let row: ObservedLock | undefined;
    await eventually(
      () => {
        row = this.collector.get(key);
        return row !== undefined && wished(row);
      },
      { withinMs: 20_000, what: `the row of ${key}` },
    );
    return row as ObservedLock;
  }

  async gone(key: string): Promise<void> {
    await eventually(() => this.collector.get(key) === undefined, { withinMs: 20_000, what: `${key} gone` });
  }

  of(type: CollectorEvent["type"], key: string): CollectorEvent[] {
    return this.events.filter((event) => event.type === type && "key" in event && event.key === key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    expectFiguresOfRows(this.collector);
    await this.collector.close();
  }
}

export async function ours(connect: string, identity = false): Promise<ZooKeeperLocks> {
  const locks = zookeeperLocks({ connect, identity });
  await locks.ready();
  return locks;
}
