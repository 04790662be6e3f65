import { startEmbeddedZooKeeper, startZooKeeper } from "@holdfast/test-servers";
import { drawn } from "../../support/share.js";

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

const both: readonly ServerKind[] = [
  { kind: "real", start: () => startZooKeeper({ maxClientCnxns: 0 }) },
  { kind: "embedded", start: () => startEmbeddedZooKeeper({ containerCheckIntervalMs: 100 }) },
];

/** Everything here runs against both in a full run, and against one of them in any other. */
export const servers = drawn("servers below the recipes", both, 1, ({ kind }) => kind);
