import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import { readRule } from "../../src/layout/queue-rules.js";
import { QueueAttempt } from "../../src/recipes/queue/queue-attempt.js";
import { SessionContext } from "../../src/recipes/session-context.js";
import { RecordedAttempt } from "./support/recorded-attempt.js";
import { ScriptedSequence, settle } from "./support/scripted-sequence.js";
import { ScriptedSession, stat } from "./support/scripted-session.js";

const writer = "_c_00000000-0000-4000-8000-000000000000-__WRIT__0000000000";

test("readers of one session that a writer lets in together list the queue once", async () => {
  const scripted = new ScriptedSequence();
  const { session } = scripted;
  const spec = { lockName: "l", parent: "/l", rule: readRule, data: new Uint8Array(0) };
  const names = [writer];
  const attempts = Array.from({ length: 50 }, (_, index) => {
    const { context, settings } = scripted;
    const attempt = new RecordedAttempt(
      (listener) =>
        new QueueAttempt(context, settings, [{ ...spec, mayWait: true, revocable: false }], listener),
    );
    const create = session.pending("create2");
    const path = `${create.path}${String(index + 1).padStart(10, "0")}`;
    names.push(path.slice(3));
    session.answer(create, { path, stat: stat(BigInt(50 + index), session.id) });
    session.answer(session.pending("getChildren2"), { children: [...names] });
    session.answer(session.pending("getData", path), {
      data: null,
      stat: stat(BigInt(50 + index), session.id),
    });
    session.answer(session.pending("getData", writer), { data: null, stat: stat(40n, 0x99n) });
    return attempt;
  });
  session.fire(writer, "deleted");
  expect(session.sent.map(({ op }) => op)).toEqual(["getChildren2"]);
  session.answer(session.pending("getChildren2"), { children: names.slice(1) });
  const holds = await Promise.all(attempts.map(({ grant }) => grant));
  expect(holds.map((hold) => hold?.token)).toEqual(holds.map((_hold, index) => BigInt(50 + index)));
});

test("a listing that is asked for in the next turn is a request of its own", async () => {
  const session = new ScriptedSession();
  const context = new SessionContext(session, simulatedRuntime(1));
  const heard: string[] = [];
  context.list("/l", () => heard.push("first"));
  context.list("/other", () => heard.push("other"));
  await settle();
  context.list("/l", () => heard.push("second"));
  expect(session.sent.map(({ path }) => path)).toEqual(["/l", "/other", "/l"]);
  session.answer(session.pending("getChildren2", "/l"), { children: [] });
  expect(heard).toEqual(["first"]);
});

test("a pause that is ended after its time, but before contact is back, runs nothing", async () => {
  const runtime = simulatedRuntime(2);
  const session = new ScriptedSession();
  const context = new SessionContext(session, runtime);
  const ran: string[] = [];
  session.cut();
  const end = context.pause(100, () => ran.push("ended"));
  context.pause(100, () => ran.push("not ended"));
  await runtime.advance(100);
  end();
  session.mend();
  expect(ran).toEqual(["not ended"]);
});

test("the claim of a node ends with the node, and not with an earlier one of the same name", () => {
  const context = new SessionContext(new ScriptedSession(), simulatedRuntime(3));
  context.claim("/n", 8n);
  expect([8n, 9n].map((czxid) => context.isClaimed("/n", czxid))).toEqual([true, false]);
  context.claim("/n", 9n);
  context.unclaim("/n", 8n);
  expect(context.isClaimed("/n", 9n)).toBe(true);
  context.unclaim("/n", 9n);
  expect(context.isClaimed("/n", 9n)).toBe(false);
});
