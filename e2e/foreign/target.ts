import { randomInt } from "node:crypto";
import { expireSession, startEmbeddedZooKeeper, startProxy, startZooKeeper } from "@holdfast/test-servers";
import { share } from "../support/share.js";

/** A session as its client tells it. */
export interface SessionKey {
  readonly id: bigint;
  readonly password: Uint8Array;
}

/** One server, embedded or real, with the same handles on both. */
export interface Target extends AsyncDisposable {
  readonly connectString: string;
  /** The connect string for clients that `dropConnections` and `cutOff` are for. */
  readonly droppable: string;
  /** Closes the connections of those sessions, which live on. */
  dropConnections(sessions: readonly SessionKey[]): void;
  /** Like `dropConnections`, and they do not get in again until `heal`. Others that are connected stay so. */
  cutOff(sessions: readonly SessionKey[]): Promise<void>;
  /** Clients of `droppable` that have lost their connection do not get in again until `heal`. */
  keepOut(): Promise<void>;
  heal(): Promise<void>;
  expire(session: SessionKey): Promise<void>;
  /** Neither reads nor writes until `resume`; the time of sessions runs on. */
  pause(): Promise<void>;
  resume(): void;
  /** Down and up at the same port, with all sessions and nodes. */
  restart(): Promise<void>;
}

export type TargetName = "the embedded server" | "a real server";

const allTargets: readonly TargetName[] = ["the embedded server", "a real server"];
/** The real server is the control: what others' clients do with it shows nothing of ours but that the test is right. */
export const targetNames: readonly TargetName[] = allTargets.slice(
  0,
  share("servers that clients of others meet", 1, allTargets.length),
);

const tickTimeMs = 500;
/** The seed of what ZooKeeper leaves open, such as the order of events of a dying session. Printed with each embedded server. */
export const embeddedSeed: number = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));

/**
 * Longest session on either server. It outlasts a start of a real server at its limit of 30 s and the longest pause of
 * kazoo between two attempts after that, 36 s: each doubles the one before, and differs from that by up to 40 %.
 */
export const maxSessionTimeoutMs = 75_000;

/** Sessions of 1 to 75 s on either. */
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
    // It looks at its sessions first when it comes to.
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
  // A real server has no handle to drop a connection: for that, clients go through a proxy, which drops all.
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
      // ZooKeeper 3.8.0 listens before it has its data: a client that comes in between gets neither an answer nor an end, and
      // kazoo then waits for as long as its session lasts.
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
