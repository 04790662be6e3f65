import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { drawn } from "../../support/share.js";

/** Short, because several cases wait for the end of a session. */
export const sessionTimeoutMs = 2_500;

export interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly kind: string;
  start(): Promise<Server>;
}

const both: readonly ServerKind[] = [
  { kind: "real", start: () => startZooKeeper({ maxClientCnxns: 0 }) },
  { kind: "embedded", start: () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }) },
];

/** Both servers in a full run, one of them in any other run. */
export const servers = drawn("servers below the recipes", both, 1, ({ kind }) => kind);
