import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { InvalidArgumentError } from "@holdfast/core";
import { createClient, Exception } from "node-zookeeper-client";

/**
 * A client of node-zookeeper-client, as its `createClient()` returns it. It is described by the methods that we call,
 * because the library's own declarations bring all types of Node.js along.
 */
export interface Client {
  /** Adds a credential to the connection. */
  addAuthInfo(scheme: string, auth: Buffer): void;
  /** Connects in the background. */
  connect(): void;
  /** Ends the session and the connection. */
  close(): void;
}

/** The states of the library's connection manager. */
export const ManagerState = {
  disconnected: 0,
  connecting: 1,
  connected: 2,
  closing: -1,
  closed: -2,
  sessionExpired: -3,
  authenticationFailed: -4,
} as const;

/** A request as the library itself makes and queues it. */
export interface LibraryPacket {
  readonly request: {
    readonly header: { xid: number; type: number } | null;
    readonly payload?: { readonly watch?: boolean } | null;
  };
  readonly callback?: (error: Error | null, response?: unknown) => void;
}

type PathTable = Readonly<Record<string, EventEmitter | undefined>>;

/** The internals of the library that we touch, as they are in 1.1.3. No contract covers them, so that version is pinned. */
export interface ConnectionManager extends EventEmitter {
  servers: { host: string; port: number }[];
  readonly chrootPath: string | undefined;
  state: number;
  sessionTimeout: number;
  pingTimeout: number;
  connectTimeoutHandler: NodeJS.Timeout | null;
  xid: number;
  sessionId: Buffer;
  sessionPassword: Buffer;
  readonly credentials: { readonly scheme: string; readonly auth: Buffer }[];
  /** The last zxid seen. It goes out with the next handshake. */
  zxid: Buffer;
  /** The longest pause after a round of servers, in milliseconds. */
  spinDelay: number;
  pendingBuffer: Buffer | null;
  readonly packetQueue: EventEmitter & { queue: LibraryPacket[] };
  /** The requests that were sent and not answered, in order. The library only ever pushes and shifts. */
  pendingQueue: { push(packet: LibraryPacket): unknown; shift(): LibraryPacket | undefined };
  readonly watcherManager: {
    readonly dataWatchers: PathTable;
    readonly childWatchers: PathTable;
    readonly existenceWatchers: PathTable;
    getDataWatcherPaths(): string[];
    getChildWatcherPaths(): string[];
    getExistenceWatcherPaths(): string[];
    emit(event: { type: number; state: number; path: string }): void;
  };
  socket?: Socket;
  connect(): void;
  setState(state: number): void;
  updateTimeout(timeoutMs: number): void;
  onPacketQueueReadable(): void;
  onSocketConnected(): void;
  onSocketData(chunk: Buffer): void;
  onSocketDrain(): void;
  onSocketClosed(hadError: boolean): void;
  onSocketError(error: Error): void;
  onSocketTimeout(): void;
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Makes a client of our own. The server list is set on the manager, because the library's parser knows neither IPv6
 * addresses nor spaces.
 */
export function createLibraryClient(servers: readonly ServerAddress[], sessionTimeoutMs: number): Client {
  const client = createClient("localhost:2181", { sessionTimeout: sessionTimeoutMs, retries: 0 });
  const manager = managerOf(client);
  manager.servers = servers.map(({ host, port }) => ({ host, port }));
  manager.updateTimeout(sessionTimeoutMs);
  return client;
}

const methods = [
  "connect",
  "setState",
  "updateTimeout",
  "onPacketQueueReadable",
  "onSocketConnected",
  "onSocketData",
  "onSocketDrain",
  "onSocketClosed",
  "onSocketError",
  "onSocketTimeout",
] as const;

/**
 * The connection manager of `client`. Throws `InvalidArgumentError` unless `client` has the internals of 1.1.3: hooks on
 * another shape would fail only later.
 */
export function managerOf(client: unknown): ConnectionManager {
  const manager = (client as { connectionManager?: Partial<ConnectionManager> } | null | undefined)
    ?.connectionManager;
  const fits =
    typeof manager === "object" &&
    manager !== null &&
    methods.every((name) => typeof manager[name] === "function") &&
    Array.isArray(manager.servers) &&
    Array.isArray(manager.packetQueue?.queue) &&
    Buffer.isBuffer(manager.sessionId) &&
    Buffer.isBuffer(manager.zxid) &&
    manager.watcherManager !== undefined &&
    manager.pendingQueue !== undefined;
  if (!fits) {
    throw new InvalidArgumentError(
      "client must be a client of node-zookeeper-client 1.1.3, as its createClient() returns it",
    );
  }
  return manager as ConnectionManager;
}

const exceptions = Exception as unknown as { create(code: number): Error };

/**
 * The library's own error for `code`. Where its table has no such code it would throw; then the result is an error of the
 * same shape.
 */
export function libraryError(code: number): Error {
  try {
    return exceptions.create(code);
  } catch {
    const error = Object.assign(new Error(`Exception: UNKNOWN[${code}]`), {
      code,
      path: undefined,
      getCode: (): number => code,
      getName: (): string => "UNKNOWN",
      getPath: (): undefined => undefined,
    });
    error.name = "UNKNOWN";
    return error;
  }
}
