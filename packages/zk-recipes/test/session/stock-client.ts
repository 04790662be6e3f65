import { eventually } from "@holdfast/test-servers";
import zookeeper, { type Client } from "node-zookeeper-client";
import { onTestFinished } from "vitest";
import { type ConnectionManager, managerOf } from "../../src/client/library.js";
import { parseConnectString } from "../../src/session/connect-string.js";

/** The library as it comes, with what it does made visible. */
export interface StockClient {
  readonly client: Client;
  readonly manager: ConnectionManager;
  /** Every state it reported, in order. */
  readonly states: readonly string[];
  /** What it would have thrown out of a socket handler, which ends the process. */
  readonly thrown: readonly Error[];
  /** `connect()`, and wait for it. */
  connected(): Promise<void>;
}

export interface StockOptions {
  readonly sessionTimeoutMs: number;
  /** How often it sends a request again that was cut off. Default 0, as the library has it. */
  readonly retries?: number;
  /** The longest pause after a round of servers. Default 1,000, as the library has it. */
  readonly spinDelayMs?: number;
}

/** Not connected yet; servers are tried in the order given. Whatever state it is in when the test ends, nothing of it stays. */
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

/** Its own handlers, with what comes out of them kept from ending the process. */
function catchThrown(manager: ConnectionManager): Error[] {
  const thrown: Error[] = [];
  const prototype = Object.getPrototypeOf(manager) as ConnectionManager;
  let depth = 0;
  manager.onSocketData = (chunk) => {
    depth += 1;
    try {
      prototype.onSocketData.call(manager, chunk);
    } catch (error) {
      // It calls itself for the next frame: only the outermost call is the socket's.
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
