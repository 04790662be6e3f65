import { type Runtime, systemRuntime } from "@holdfast/core";
import { type MultiOp, type MultiRequest, openAcl } from "@holdfast/zk-protocol";
import { LockPaths } from "../../../src/layout/lock-path.js";
import type { CreateSettings } from "../../../src/recipes/create/create-settings.js";
import type { SessionContext } from "../../../src/recipes/session-context.js";
import { SessionSequence } from "../../../src/recipes/session-sequence.js";
import { ScriptedSession, type Sent } from "./scripted-session.js";

/** Sessions one after the other, for which the test plays the server, and the settings for requests of the recipes. */
export class ScriptedSequence {
  readonly sessions: ScriptedSession[] = [];
  readonly sequence: SessionSequence;
  /** The pause that the retry policy gives before the next try. `null`: there is no next try. */
  nextTryMs: number | null = null;
  readonly settings: CreateSettings;

  constructor(runtime: Runtime = systemRuntime) {
    this.settings = {
      paths: new LockPaths({ chroot: "", namespace: "", root: "/holdfast" }),
      runtime,
      retry: { next: () => this.nextTryMs },
      aclOf: () => openAcl,
    };
    this.sequence = new SessionSequence({
      runtime,
      connectTimeoutMs: 1_000,
      renewable: true,
      watchesUnread: false,
      open: () => {
        const next = new ScriptedSession();
        next.id = BigInt(0x10 + this.sessions.length);
        this.sessions.push(next);
        return next;
      },
      onState: () => {},
    });
  }

  /** The context of the present session. */
  get context(): SessionContext {
    return this.sequence.context;
  }

  get session(): ScriptedSession {
    return this.sessions[this.sessions.length - 1] as ScriptedSession;
  }
}

/** The steps of a transaction that was sent. */
export function stepsOf(sent: Sent): readonly MultiOp[] {
  return (sent.request as MultiRequest).ops;
}

/** The paths that a transaction makes if the server counts from `first`, with one counter for each parent. */
export function pathsOf(sent: Sent, first = 0): string[] {
  const counters = new Map<string, number>();
  return stepsOf(sent).map((step) => {
    const { path } = step.request;
    const parent = path.slice(0, path.lastIndexOf("/"));
    const number = counters.get(parent) ?? first;
    counters.set(parent, number + 1);
    return path + String(number).padStart(10, "0");
  });
}

/** Applies a transaction of creates as 3.8.0 answers it: without a Stat, so the czxid is known only from the reply's zxid. */
export function applyAll(session: ScriptedSession, sent: Sent, zxid: bigint, first = 0): string[] {
  const paths = pathsOf(sent, first);
  session.answer(sent, { results: paths.map((path) => ({ op: "create", path })) }, zxid);
  return paths;
}

/** Refuses a transaction because of one step. */
export function refuseAll(session: ScriptedSession, sent: Sent, culprit: number, code: number): void {
  const results = stepsOf(sent).map((_step, index) => ({
    op: "error",
    code: index < culprit ? 0 : index === culprit ? code : -2,
  }));
  session.answer(sent, { results });
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Waits until every promise reaction that is due has run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The state of a promise after all that is due has run: its value, its error, or "open". */
export async function stateOf<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown } | "open"> {
  await settle();
  return Promise.race([
    promise.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
    settle().then(() => "open" as const),
  ]);
}
