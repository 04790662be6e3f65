import type { ZooKeeperError } from "@holdfast/zk-protocol";
import zookeeper from "node-zookeeper-client";
import type { ConnectionManager } from "../../src/client/library.js";
import { type StockClient, stockClient } from "./stock-client.js";
import { createRequest, open, runtime } from "./support.js";

/**
 * One interface for the library as it comes and for our session. A scenario is a function of this interface. It shows the defect
 * of the library, and that our session does not have it.
 */
export interface ClientUnderTest {
  readonly name: "stock" | "ours";
  /** Whether the client says that it is connected. */
  readonly connected: boolean;
  /** The client's state, in its own words. */
  readonly state: string;
  /** Whether the client has reported that its session is over. */
  readonly over: boolean;
  /** Errors that the client would have thrown out of a socket handler, which ends the process. */
  readonly thrown: readonly Error[];
  /** `"ok"`, the error's code or name, or `null` after `withinMs` without a callback. */
  exists(path: string, withinMs?: number): Promise<string | null>;
  create(
    path: string,
    options?: { ephemeral?: boolean; data?: string; withinMs?: number },
  ): Promise<string | null>;
  getData(path: string, withinMs?: number): Promise<string | null>;
  /** Resolves when the watch is armed. */
  watch(path: string, fired: () => void): Promise<void>;
  /** Sets many exists watches at once, on paths that do not exist. */
  watchMany(paths: readonly string[], fired: (path: string) => void): Promise<void>;
  /** Several reads in one turn; `callback` is run for each answer and may throw. */
  readMany(path: string, count: number, callback: (index: number) => void): void;
  raw(op: RawOp, path: string, withinMs?: number): Promise<string | null>;
  deleteIfVersion0(path: string, withinMs?: number): Promise<string | null>;
  setNextXid(xid: number): void;
}

/** Operations for which the library has no method. */
export type RawOp = "createContainer" | "removeWatches" | "sync";

export interface Wishes {
  readonly sessionTimeoutMs: number;
  readonly auth?: { scheme: string; auth: string };
}

/** Waits for the first connection unless `wait` is `false`. Servers are tried in the order given. */
export type MakeClient = (connect: string, wishes: Wishes, wait?: boolean) => Promise<ClientUnderTest>;

export const stock: MakeClient = async (connect, wishes, wait = true) => {
  const stock = stockClient(connect, wishes);
  if (wishes.auth !== undefined) stock.client.addAuthInfo(wishes.auth.scheme, Buffer.from(wishes.auth.auth));
  if (wait) await stock.connected();
  else stock.client.connect();
  return stockUnderTest(stock);
};

function stockUnderTest({ client, manager, states, thrown }: StockClient): ClientUnderTest {
  const nameOf = (error: unknown): string =>
    error === null || error === undefined ? "ok" : (error as { getName(): string }).getName();
  const call = (run: (done: (error: unknown) => void) => void, withinMs = 2_000): Promise<string | null> =>
    limited(withinMs, (done) => run((error) => done(nameOf(error))));
  return {
    name: "stock",
    get connected() {
      return client.getState() === zookeeper.State.SYNC_CONNECTED;
    },
    get state() {
      return client.getState().name;
    },
    get over() {
      return states.includes("EXPIRED") || states.includes("AUTH_FAILED");
    },
    thrown,
    exists: (path, withinMs) => call((done) => client.exists(path, done), withinMs),
    getData: (path, withinMs) => call((done) => client.getData(path, done), withinMs),
    create: (path, { ephemeral = false, data = "", withinMs } = {}) => {
      const mode = ephemeral ? zookeeper.CreateMode.EPHEMERAL : zookeeper.CreateMode.PERSISTENT;
      return call((done) => client.create(path, Buffer.from(data), mode, done), withinMs);
    },
    watch: (path, fired) =>
      new Promise((resolve, reject) => {
        // The function itself is passed, because the library compares functions by identity.
        client.getData(path, fired, (error) => (error ? reject(error) : resolve()));
      }),
    watchMany: (paths, fired) =>
      new Promise((resolve) => {
        let left = paths.length;
        for (const path of paths) {
          client.exists(
            path,
            () => fired(path),
            () => {
              left -= 1;
              if (left === 0) resolve();
            },
          );
        }
      }),
    readMany: (path, count, callback) => {
      for (let index = 0; index < count; index += 1) client.exists(path, () => callback(index));
    },
    raw: (op, path, withinMs = 1_500) => stockRaw(manager, op, path, withinMs),
    deleteIfVersion0: (path, withinMs) =>
      call(
        (done) =>
          client
            .transaction()
            .remove(path, 0)
            .commit((error) => done(error)),
        withinMs,
      ),
    setNextXid: (xid) => {
      manager.xid = xid;
    },
  };
}

/** Sends a request that the library does not know, with the library's own request objects, as a user would first try. */
async function stockRaw(
  manager: ConnectionManager,
  op: RawOp,
  path: string,
  withinMs: number,
): Promise<string | null> {
  const { encodeRequest, opCodes, openAcl } = await import("@holdfast/zk-protocol");
  const bodies = {
    createContainer: () => encodeRequest("createContainer", { path, data: null, acl: openAcl, flags: 4 }),
    removeWatches: () => encodeRequest("removeWatches", { path, type: 2 }),
    sync: () => encodeRequest("sync", { path }),
  };
  const body = bodies[op]();
  const header = { xid: 0, type: opCodes[op] };
  const toBuffer = (): Buffer => {
    const frame = Buffer.alloc(12 + body.length);
    frame.writeInt32BE(8 + body.length, 0);
    frame.writeInt32BE(header.xid, 4);
    frame.writeInt32BE(header.type, 8);
    body.copy(frame, 12);
    return frame;
  };
  const queue = (manager as unknown as { queue(request: unknown, done: (error: unknown) => void): void })
    .queue;
  return limited(withinMs, (done) =>
    queue.call(manager, { header, payload: null, toBuffer }, (error) =>
      done(error ? (error as { getName(): string }).getName() : "ok"),
    ),
  );
}

export const ours: MakeClient = async (connect, wishes, wait = true) => {
  const session = open(connect, {
    sessionTimeoutMs: wishes.sessionTimeoutMs,
    runtime: { ...runtime, random: () => 0.999_999 }, // leaves the order of the servers as it is
    ...(wishes.auth === undefined ? {} : { auth: [wishes.auth] }),
  });
  if (wait) await session.whenConnected();
  const nameOf = (error: Error): string => (error as Partial<ZooKeeperError>).codeName ?? error.name;
  const call = (promise: Promise<unknown>, withinMs = 2_000): Promise<string | null> =>
    limited(withinMs, (done) =>
      promise.then(
        () => done("ok"),
        (error) => done(nameOf(error)),
      ),
    );
  return {
    name: "ours",
    get connected() {
      return session.state === "connected";
    },
    get state() {
      return session.state;
    },
    get over() {
      return session.state === "lost";
    },
    thrown: [],
    exists: (path, withinMs) => call(session.request("exists", { path, watch: false }), withinMs),
    getData: (path, withinMs) => call(session.request("getData", { path, watch: false }), withinMs),
    create: (path, { ephemeral = false, data = "", withinMs } = {}) =>
      call(session.request("create2", createRequest(path, ephemeral ? 1 : 0, data)), withinMs),
    watch: (path, fired) =>
      new Promise((resolve, reject) => {
        session.watchData(path, {
          answered: (outcome) => (outcome.ok ? resolve() : reject(outcome.error)),
          fired: () => fired(),
        });
      }),
    watchMany: (paths, fired) =>
      new Promise((resolve) => {
        let left = paths.length;
        const answered = (): void => {
          left -= 1;
          if (left === 0) resolve();
        };
        for (const path of paths) session.watchExists(path, { answered, fired: () => fired(path) });
      }),
    readMany: (path, count, callback) => {
      for (let index = 0; index < count; index += 1) {
        session.send("exists", { path, watch: false }, () => callback(index));
      }
    },
    raw: (op, path, withinMs) => {
      if (op === "createContainer") return call(session.request(op, createRequest(path, 4)), withinMs);
      return call(
        op === "sync" ? session.request(op, { path }) : session.request(op, { path, type: 2 }),
        withinMs,
      );
    },
    deleteIfVersion0: (path, withinMs) =>
      call(
        session
          .request("multi", { ops: [{ op: "delete", request: { path, version: 0 } }] })
          .then(({ results }) => {
            if (results.some((result) => result.op === "error")) throw new Error("refused");
          }),
        withinMs,
      ),
    setNextXid: () => {
      throw new Error("only through an adopted client");
    },
  };
};

function limited(withinMs: number, run: (done: (result: string) => void) => void): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), withinMs);
    run((result) => {
      clearTimeout(timer);
      resolve(result);
    });
  });
}
