import { randomInt } from "node:crypto";
import { expireSession, startEmbeddedZooKeeper, startProxy, startZooKeeper } from "@holdfast/test-servers";
import { share } from "../support/share.js";

/** A session as its client reports it. */
export interface SessionKey {
  readonly id: bigint;
  readonly password: Uint8Array;
}

/** One server, embedded or real, with the same methods for both. */
export interface Target extends AsyncDisposable {
  readonly connectString: string;
  /** The connect string for clients whose connections a test breaks with `dropConnections` or `cutOff`. */
  readonly droppable: string;
  /** Closes the connections of these sessions. The sessions live on. */
  dropConnections(sessions: readonly SessionKey[]): void;
  /** Like `dropConnections`, but these clients cannot connect again until `heal`. Other connected clients stay connected. */
  cutOff(sessions: readonly SessionKey[]): Promise<void>;
  /** Clients of `droppable` that have lost their connection cannot connect again until `heal`. */
  keepOut(): Promise<void>;
  heal(): Promise<void>;
  expire(session: SessionKey): Promise<void>;
  /** The server neither reads nor writes until `resume`, while the time of sessions runs on. */
  pause(): Promise<void>;
  resume(): void;
  /** Stops the server and starts it again at the same port, with all sessions and nodes. */
  restart(): Promise<void>;
}

export type TargetName = "the embedded server" | "a real server";

const allTargets: readonly TargetName[] = ["the embedded server", "a real server"];
/** The real server is the control. The clients here are not ours, so a run on it only shows that the test itself is right. */
export const targetNames: readonly TargetName[] = allTargets.slice(
  0,
  share("servers that clients of others meet", 1, allTargets.length),
);

const tickTimeMs = 500;
/**
 * The seed of what ZooKeeper leaves open, such as the order of events of a dying session. It is printed with each embedded
 * server.
 */
export const embeddedSeed: number = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));

/**
 * The longest session on either server. It outlasts a start of a real server that takes its limit of 30 s, and after it kazoo's
 * longest pause between two attempts, 36 s. Each pause of kazoo is twice the one before, with a deviation of up to 40 %.
 */
export const maxSessionTimeoutMs = 75_000;

/** Starts a server on which sessions last from 1 to 75 s. */
export function startTarget(name: TargetName): Promise<Target> {
  return name === "the embedded server" ? embedded() : real();
}

async function embedded(): Promise<Target> {
  const server = await startEmbeddedZooKeeper({ tickTimeMs, maxSessionTimeoutMs, seed: embeddedSeed });
  console.log(`embedded server with HOLDFAST_SEED=${server.seed}`);
  const dropConnections: Target["dropConnections"] = (sessions) => {
    for (const { id } of sessions) {
      if (!server.dropConnection(id)) throw new Error(`session ${id} has no connection to drop`);
    }
  };
  return {
    connectString: server.connectString,
    droppable: server.connectString,
    dropConnections,
    async cutOff(sessions) {
      server.faults.refuseConnections();
      dropConnections(sessions);
    },
    // Nothing to do: when the embedded server resumes, it ends expired sessions before it reads requests.
    keepOut: async () => {},
    heal: async () => server.faults.clear(),
    async expire({ id }) {
      if (!server.expireSession(id)) throw new Error(`there is no session ${id} to end`);
    },
    pause: async () => server.pause(),
    resume: () => server.resume(),
    restart: () => server.restart(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function real(): Promise<Target> {
  const server = await startZooKeeper({ tickTimeMs, maxSessionTimeoutMs });
  const front = await startProxy({ target: server.connectString });
  // A real server has no call to drop a connection. So these clients go through a proxy, which drops all its connections.
  const proxy = await startProxy({ target: server.connectString });
  return {
    connectString: front.connectString,
    droppable: proxy.connectString,
    dropConnections: () => proxy.endAll(),
    async cutOff() {
      await proxy.setMode("refuse");
      proxy.endAll();
    },
    async keepOut() {
      await proxy.setMode("refuse");
      proxy.endAll();
    },
    heal: () => proxy.setMode("ok"),
    expire: ({ id, password }) =>
      expireSession({ connectString: server.connectString, sessionId: id, password }),
    pause: () => server.pause(),
    resume: () => server.resume(),
    async restart() {
      // ZooKeeper 3.8.0 listens before it has loaded its data. A client that connects in between gets neither an answer nor an
      // end of the connection, and kazoo then waits for as long as its session lasts.
      await Promise.all([front, proxy].map((each) => each.setMode("refuse")));
      await server.kill();
      await server.restart();
      await Promise.all([front, proxy].map((each) => each.setMode("ok")));
    },
    async [Symbol.asyncDispose]() {
      await front.close();
      await proxy.close();
      await server.stop();
    },
  };
}
