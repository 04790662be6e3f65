import { eventually } from "@holdfast/test-servers";
import zookeeper, { type Client } from "node-zookeeper-client";
import { onTestFinished } from "vitest";
import { type ConnectionManager, managerOf } from "../../src/client/library.js";
import { parseConnectString } from "../../src/session/connect-string.js";

/** The library as it comes, with what it does made visible to the test. */
export interface StockClient {
  readonly client: Client;
  readonly manager: ConnectionManager;
  /** Every state it reported, in order. */
  readonly states: readonly string[];
  /** Errors that it would have thrown out of a socket handler, which ends the process. */
  readonly thrown: readonly Error[];
  /** Calls `connect()` and waits until it is connected. */
  connected(): Promise<void>;
}

export interface StockOptions {
  readonly sessionTimeoutMs: number;
  /** How often it repeats a request that was cut off. Default 0, as in the library. */
  readonly retries?: number;
  /** The longest pause after a round of servers. Default 1,000, as in the library. */
  readonly spinDelayMs?: number;
}

/** Is not connected yet, and tries servers in the order given. When the test ends, nothing of it stays, whatever its state. */
export function stockClient(connect: string, options: StockOptions): StockClient {
  const { sessionTimeoutMs, retries = 0, spinDelayMs = 1_000 } = options;
  const client = zookeeper.createClient(connect, {
    sessionTimeout: sessionTimeoutMs,
    retries,
    spinDelay: spinDelayMs,
  });
  const manager = managerOf(client);
  manager.servers = parseConnectString(connect).servers.map((server) => ({ ...server }));
  const thrown = catchThrown(manager);
  const states: string[] = [];
  client.on("state", (state) => states.push(state.name));
  onTestFinished(() => endStock(manager));
  return {
    client,
    manager,
    states,
    thrown,
    connected: async () => {
      client.connect();
      await eventually(() => states.includes("SYNC_CONNECTED"), { what: "the stock client to connect" });
    },
  };
}

/** Keeps the library's own handlers, but catches what they throw, so that it does not end the process. */
function catchThrown(manager: ConnectionManager): Error[] {
  const thrown: Error[] = [];
  const prototype = Object.getPrototypeOf(manager) as ConnectionManager;
  let depth = 0;
  manager.onSocketData = (chunk) => {
    depth += 1;
    try {
      prototype.onSocketData.call(manager, chunk);
    } catch (error) {
      // The handler calls itself for the next frame. Only the outermost call is the socket's.
      if (depth > 1) throw error;
      thrown.push(error as Error);
    } finally {
      depth -= 1;
    }
  };
  return thrown;
}

function endStock(manager: ConnectionManager): void {
  manager.connect = () => {};
  if (manager.connectTimeoutHandler !== null) clearTimeout(manager.connectTimeoutHandler);
  manager.socket?.destroy();
}
