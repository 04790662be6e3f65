import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";

/** Short, since several cases wait for the end of a session. */
export const sessionTimeoutMs = 2_500;

export interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly kind: string;
  start(): Promise<Server>;
}

/** Everything here runs against both. */
export const servers: readonly ServerKind[] = [
  { kind: "real", start: () => startZooKeeper({ maxClientCnxns: 0 }) },
  { kind: "embedded", start: () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }) },
];
