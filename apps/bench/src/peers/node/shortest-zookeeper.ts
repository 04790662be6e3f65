import zookeeper, { type Client } from "node-zookeeper-client";
import type { BenchClient, BenchLock, NodePeer } from "../turns.js";
import { versionOf } from "./version-of.js";

/**
 * The shortest exchange that gives exclusion, over the stock client: create and list in one write, wait for the
 * deletion of the node ahead, delete. It is unsafe: a lost answer leaves a lock behind, and the event alone counts as
 * the grant.
 */
export const peer: NodePeer = {
  versions: { "node-zookeeper-client": versionOf("node-zookeeper-client") },
  async connect(server) {
    const client = zookeeper.createClient(server, { sessionTimeout: 30_000 });
    const connected = new Promise<void>((resolve) => client.once("connected", resolve));
    client.connect();
    await connected;
    return clientOver(client);
  },
};

function clientOver(client: Client): BenchClient {
  return {
    lock: (name) => lockOver(client, `/shortest-${name}`),
    async close() {
      const closed = new Promise<void>((resolve) => client.once("disconnected", resolve));
      client.close();
      await closed;
    },
  };
}

function lockOver(client: Client, folder: string): BenchLock {
  const { socket } = (client as unknown as { connectionManager: { socket: import("node:net").Socket } })
    .connectionManager;
  let made = false;
  let own = "";
  return {
    async acquire() {
      if (!made) await call<string>((done) => client.mkdirp(folder, done));
      made = true;
      socket.cork();
      const created = call<string>((done) =>
        client.create(`${folder}/n-`, zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL, done),
      );
      const listed = call<string[]>((done) => client.getChildren(folder, done));
      socket.uncork();
      own = await created;
      const ahead = lastBefore(own.slice(folder.length + 1), await listed);
      if (ahead !== undefined) await gone(client, `${folder}/${ahead}`);
    },
    release: () => call<void>((done) => client.remove(own, done)),
  };
}

/** The last name before our own. It is found without sorting, which would be most of the work if thousands wait. */
function lastBefore(own: string, names: readonly string[]): string | undefined {
  let last: string | undefined;
  for (const name of names) if (name < own && (last === undefined || name > last)) last = name;
  return last;
}

function gone(client: Client, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.exists(
      path,
      () => resolve(),
      (error, stat) => {
        if (error) reject(error);
        // The watch that is left behind would fire if the node were made, but it is never made again.
        else if (!stat) resolve();
      },
    );
  });
}

function call<T>(start: (done: (error: unknown, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error) reject(error);
      else resolve(value as T);
    });
  });
}
