import { randomUUID } from "node:crypto";
import type { Runtime } from "@holdfast/core";
import type { RequestOf, ResponseOf } from "@holdfast/zk-protocol";
import { openAcl } from "@holdfast/zk-protocol";
import { onTestFinished } from "vitest";
import { parseConnectString } from "../../src/session/connect-string.js";
import { openSession } from "../../src/session/open-session.js";
import type { SessionOptions } from "../../src/session/options.js";
import type { Outcome, ZooKeeperSession } from "../../src/session/types.js";

/** The machine's clocks. Tests that change time replace a part of them. */
export const runtime: Runtime = {
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  random: () => Math.random(),
  randomId: () => randomUUID(),
  setTimer: (delayMs, fn, options) => {
    const timer = setTimeout(fn, Math.min(delayMs, 2 ** 31 - 1));
    if (options?.ref !== true) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A session that is closed when the test ends, whatever its result. */
export function open(connect: string, options: Partial<SessionOptions> = {}): ZooKeeperSession {
  const session = openSession({
    servers: parseConnectString(connect).servers,
    sessionTimeoutMs: 4_000,
    runtime,
    ...options,
  });
  onTestFinished(() => session.close({ waitMs: 300 }));
  return session;
}

export function createRequest(path: string, flags = 0, data = ""): RequestOf<"create2"> {
  return { path, data: Buffer.from(data), acl: openAcl, flags };
}

/** Every state from now on, in order. */
export function statesOf(session: ZooKeeperSession): string[] {
  const states: string[] = [];
  session.onState((state) => states.push(state));
  return states;
}

/** Calls `send` and resolves to the outcome. Never rejects. */
export function outcomeOf<
  K extends "create2" | "delete" | "exists" | "getChildren2" | "getData" | "setData" | "sync" | "multi",
>(session: ZooKeeperSession, op: K, request: RequestOf<K>): Promise<Outcome<ResponseOf<K>>> {
  return new Promise((resolve) => session.send(op, request, resolve));
}
