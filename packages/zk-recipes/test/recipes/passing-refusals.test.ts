import { EvictedError, type Runtime } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { mutexRule } from "../../src/layout/queue-rules.js";
import { OwnNodeWatch } from "../../src/recipes/grant/own-node-watch.js";
import { NaiveAttempt } from "../../src/recipes/naive/naive-attempt.js";
import { QueueAttempt } from "../../src/recipes/queue/queue-attempt.js";
import { SessionContext } from "../../src/recipes/session-context.js";
import { RecordedAttempt } from "./support/recorded-attempt.js";
import { ScriptedSequence, stateOf } from "./support/scripted-sequence.js";
import { ScriptedSession, stat } from "./support/scripted-session.js";

const passing = [
  ["ThrottledOp", errorCodes.ThrottledOp],
  ["OperationTimeout", errorCodes.OperationTimeout],
] as const;
const askAgainMs = 250;

let clock: SimulatedRuntime;
/** For each timer in the order of setting: whether it keeps the process alive. */
let holdsProcess: boolean[];
let runtime: Runtime;

beforeEach(() => {
  clock = simulatedRuntime(1);
  holdsProcess = [];
  runtime = {
    ...clock,
    setTimer: (delayMs, fn, options) => {
      holdsProcess.push(options?.ref === true);
      return clock.setTimer(delayMs, fn, options);
    },
  };
});

function queueing({ context, settings }: ScriptedSequence): RecordedAttempt {
  const spec = { lockName: "l", parent: "/l", rule: mutexRule, data: new Uint8Array(0) };
  const options = { mayWait: true, revocable: false };
  return new RecordedAttempt(
    (listener) => new QueueAttempt(context, settings, [{ ...spec, ...options }], listener),
  );
}

describe.each(passing)("a request that is refused with %s", (_name, code) => {
  test("to watch the own node is repeated, and the end of the node is heard", async () => {
    const session = new ScriptedSession();
    const heard: string[] = [];
    const node = { path: "/l/own", name: "own", czxid: 7n };
    const listener = { gone: () => heard.push("gone"), revokeAsked: () => heard.push("revoke") };
    const watch = new OwnNodeWatch(new SessionContext(session, runtime), node, listener);
    watch.arm();
    session.refuse(session.pending("getData"), code);
    expect(session.sent).toEqual([]);
    await clock.advance(askAgainMs);
    session.answer(session.pending("getData"), { data: null, stat: stat(7n, session.id) });
    expect(watch.trusted).toBe(true);
    session.fire("own", "deleted");
    expect(heard).toEqual(["gone"]);
  });

  test("to prove the session is repeated after a pause, not at once", async () => {
    const session = new ScriptedSession();
    const proven: string[] = [];
    new SessionContext(session, runtime).whenProven(
      () => proven.push("proven"),
      () => true,
    );
    session.refuse(session.pending("sync"), code);
    expect(session.sent).toEqual([]);
    expect(holdsProcess).toEqual([true]);
    await clock.advance(askAgainMs);
    session.answer(session.pending("sync"), { path: "/" });
    expect(proven).toEqual(["proven"]);
  });

  test("to prove the session before a node of a lost answer is looked for is repeated after a pause", async () => {
    const scripted = new ScriptedSequence(runtime);
    const attempt = queueing(scripted);
    const { session } = scripted;
    const { path } = session.pending("create2");
    session.cut();
    session.mend();
    const children = [`${path.slice(3)}0000000000`];
    session.refuse(session.pending("sync"), code);
    session.answer(session.pending("getChildren2"), { children });
    expect(session.sent).toEqual([]);
    await clock.advance(askAgainMs);
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children });
    session.answer(session.pending("exists"), { stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2"), { children });
    expect(await attempt.grant).toMatchObject({ token: 50n });
  });

  test("to prove that the own node was deleted by an operator is followed by a listing after a pause", async () => {
    const scripted = new ScriptedSequence(runtime);
    const attempt = queueing(scripted);
    const { session } = scripted;
    const create = session.pending("create2");
    const path = `${create.path}0000000001`;
    const ahead = "lock-0000000000";
    session.answer(create, { path, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2"), { children: [ahead, path.slice(3)] });
    session.answer(session.pending("getData", path), { data: null, stat: stat(50n, session.id) });
    session.answer(session.pending("getData", ahead), { data: null, stat: stat(40n, 0x99n) });
    session.fire(path, "deleted");
    session.refuse(session.pending("sync"), code);
    expect(session.sent).toEqual([]);
    await clock.advance(askAgainMs);
    session.answer(session.pending("getChildren2"), { children: [ahead] });
    session.answer(session.pending("sync"), { path: "/" });
    session.noNode(session.pending("delete"));
    await expect(attempt.grant).rejects.toThrow(EvictedError);
  });

  test("to create the queue node leaves a timer that holds the process, and ends at once when it is given up", async () => {
    const scripted = new ScriptedSequence(runtime);
    scripted.nextTryMs = 60_000;
    const attempt = queueing(scripted);
    const { session } = scripted;
    session.refuse(session.pending("create2"), code);
    session.answer(session.pending("getChildren2"), { children: [] });
    expect(holdsProcess).toEqual([true]);
    expect(clock.pendingTimers).toBe(1);
    await attempt.withdraw();
    expect(clock.pendingTimers).toBe(0);
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  test("to create a naive mutex leaves a timer that holds the process, and ends at once when it is given up", async () => {
    const scripted = new ScriptedSequence(runtime);
    scripted.nextTryMs = 60_000;
    const spec = { lockName: "n", path: "/n", data: new Uint8Array(0), mayWait: true, revocable: false };
    const { context, settings } = scripted;
    const attempt = new RecordedAttempt((listener) => new NaiveAttempt(context, settings, spec, listener));
    scripted.session.refuse(scripted.session.pending("create2"), code);
    expect(holdsProcess).toEqual([true]);
    await attempt.withdraw();
    expect(clock.pendingTimers).toBe(0);
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  test("to list the queue leaves a timer that holds the process, and ends with the session", async () => {
    const scripted = new ScriptedSequence(runtime);
    const attempt = queueing(scripted);
    const first = scripted.session;
    const create = first.pending("create2");
    first.answer(create, { path: `${create.path}0000000000`, stat: stat(50n, first.id) });
    first.refuse(first.pending("getChildren2"), code);
    expect(first.sent).toEqual([]);
    expect(holdsProcess).toEqual([true]);
    first.lose("expired");
    expect(clock.pendingTimers).toBe(0);
    expect(attempt.heard).toEqual(["session ended queued after 1"]);
  });
});
