import { InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { NaiveAttempt } from "../../../src/recipes/naive/naive-attempt.js";
import { RecordedAttempt } from "../support/recorded-attempt.js";
import { ScriptedSequence, stateOf } from "../support/scripted-sequence.js";
import { type ScriptedSession, stat } from "../support/scripted-session.js";

let scripted: ScriptedSequence;
let session: ScriptedSession;

beforeEach(() => {
  scripted = new ScriptedSequence();
  session = scripted.session;
});

function ask(mayWait = true, path = "/n"): RecordedAttempt {
  const spec = { lockName: "n", path, data: new Uint8Array(0), mayWait, revocable: false };
  const { context, settings } = scripted;
  return new RecordedAttempt((listener) => new NaiveAttempt(context, settings, spec, listener));
}

const made = (czxid: bigint): void => {
  session.answer(session.pending("create2"), { path: "/n", stat: stat(czxid, session.id) });
};
const taken = (): void => session.refuse(session.pending("create2"), errorCodes.NodeExists);
const seen = (czxid: bigint, owner: bigint): void =>
  session.answer(session.pending("exists"), { stat: stat(czxid, owner) });

async function holdOf(attempt: RecordedAttempt): Promise<ZooKeeperGrant> {
  const state = await stateOf(attempt.grant);
  if (state === "open" || "error" in state || state.value === null) throw new Error("not granted");
  return state.value;
}

/** An attempt whose create was already sent when the connection broke. */
function askAndBreak(): RecordedAttempt {
  const attempt = ask();
  session.cut();
  session.mend();
  return attempt;
}

describe("a naive mutex", () => {
  it("is held by the client that made its one node, and by the czxid of that node", async () => {
    const attempt = ask();
    made(9n);
    expect(await holdOf(attempt)).toMatchObject({
      token: 9n,
      backendId: "/n",
      roundTrips: 1,
      contended: false,
    });
  });

  it("that is withdrawn by the caller's choice of an ACL for the next try makes no node", () => {
    const { context, settings } = scripted;
    const spec = { lockName: "n", path: "/n", data: new Uint8Array(0), mayWait: true, revocable: false };
    let tries = 0;
    const aclOf = (path: string) => {
      if (++tries === 2) void attempt.withdraw();
      return settings.aclOf(path);
    };
    const attempt = new RecordedAttempt(
      (listener) => new NaiveAttempt(context, { ...settings, aclOf }, spec, listener),
    );
    taken();
    seen(9n, 0x99n);
    session.fire("/n", "deleted");
    expect(tries).toBe(2);
    expect(session.has("create2")).toBe(false);
  });

  it("watches the node of another and tries again when that goes", async () => {
    const attempt = ask();
    taken();
    seen(8n, 0x99n);
    expect(await stateOf(attempt.grant)).toBe("open");
    session.fire("/n", "deleted");
    expect(attempt.heard).toEqual(["notified"]);
    made(9n);
    expect(await holdOf(attempt)).toMatchObject({ contended: true });
  });

  it("tries again when the node went before it could be watched", async () => {
    const attempt = ask();
    taken();
    session.answer(session.pending("exists"), null);
    made(9n);
    await holdOf(attempt);
  });

  it("is refused to one that may not wait", async () => {
    const attempt = ask(false);
    taken();
    seen(8n, 0x99n);
    expect(await attempt.grant).toBeNull();
    expect(session.sent).toEqual([]);
  });

  it("never takes the node of its own session that another request made", async () => {
    const first = ask();
    made(8n);
    await holdOf(first);
    const second = ask();
    taken();
    seen(8n, session.id);
    expect(await stateOf(second.grant)).toBe("open");
  });

  it("never takes a node of its own session that none of its requests has made", async () => {
    const attempt = ask();
    taken();
    seen(8n, session.id);
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  it("on a node that belongs to no session is a layout conflict, not a wait for ever", async () => {
    const attempt = ask();
    taken();
    seen(8n, 0n);
    await expect(attempt.grant).rejects.toThrow(LayoutConflictError);
  });

  it("waits for a session whose lease is ahead, and then looks whether its node is still there", async () => {
    const attempt = ask();
    session.leaseUntil = 0;
    made(9n);
    expect(await stateOf(attempt.grant)).toBe("open");
    expect(session.has("exists")).toBe(false);
    session.leaseUntil = Number.MAX_SAFE_INTEGER;
    session.answer(session.pending("sync"), { path: "/" });
    seen(9n, session.id);
    await holdOf(attempt);
  });

  it("that cannot be sent fails, and leaves the turns of creates to others", async () => {
    const mistake = new InvalidArgumentError("too large");
    const send = vi.spyOn(session, "send").mockImplementation(() => {
      throw mistake;
    });
    // This is more than the limit of creates under way at one time.
    for (let i = 0; i < 501; i++) await expect(ask().grant).rejects.toBe(mistake);
    send.mockRestore();
    ask();
    expect(session.has("create2")).toBe(true);
  });

  it("makes its parents, not its own path, as containers", () => {
    ask(true, "/a/b/n");
    session.noNode(session.pending("create2"));
    expect(session.sent.map(({ op, path }) => `${op} ${path}`)).toEqual([
      "createContainer /a",
      "createContainer /a/b",
      "create2 /a/b/n",
    ]);
  });
});

describe("a naive mutex whose create got no answer", () => {
  it("holds when the node behind a sync belongs to its session", async () => {
    const attempt = askAndBreak();
    expect(session.sent.map(({ op }) => op)).toEqual(["sync", "exists"]);
    session.answer(session.pending("sync"), undefined);
    seen(9n, session.id);
    expect(await holdOf(attempt)).toMatchObject({ token: 9n });
  });

  it("waits when it belongs to another session", async () => {
    const attempt = askAndBreak();
    session.answer(session.pending("sync"), undefined);
    seen(9n, 0x99n);
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  it("tries again when there is none", () => {
    askAndBreak();
    session.answer(session.pending("sync"), undefined);
    session.answer(session.pending("exists"), null);
    expect(session.has("create2")).toBe(true);
  });

  it("does not share the one node with a second that has heard as little", async () => {
    const attempts = [ask(), ask()];
    session.cut();
    session.mend();
    for (const _ of attempts) {
      session.answer(session.pending("sync"), undefined);
      seen(9n, session.id);
    }
    const states = await Promise.all(attempts.map(({ grant }) => stateOf(grant)));
    expect(states.filter((state) => state === "open")).toHaveLength(1);
  });

  it("and is withdrawn, deletes the node that turns out to be its own", async () => {
    const attempt = ask();
    const withdrawn = attempt.withdraw();
    session.cut();
    session.mend();
    session.answer(session.pending("sync"), undefined);
    seen(9n, session.id);
    expect(await stateOf(withdrawn)).toBe("open");
    session.answer(session.pending("delete", "/n"), undefined);
    await withdrawn;
  });

  it("and is withdrawn by a listener that hears of the session's end before it, has nothing left", async () => {
    const first = ask();
    const second = ask();
    let withdrawn: Promise<void> | undefined;
    first.onSessionEnded = () => {
      withdrawn = second.withdraw();
    };
    session.cut();
    session.lose("expired");
    await withdrawn;
    expect(second.heard).toEqual([]);
  });

  it("and is withdrawn, leaves alone what is another's", async () => {
    const attempt = ask();
    const withdrawn = attempt.withdraw();
    session.cut();
    session.mend();
    session.answer(session.pending("sync"), undefined);
    seen(9n, 0x99n);
    await withdrawn;
    expect(session.has("delete")).toBe(false);
  });

  it("and is withdrawn, waits for the end of its session only until that is known", async () => {
    const { context } = scripted;
    const waiting = new Set<() => void>();
    const whenOver = context.whenOver.bind(context);
    vi.spyOn(context, "whenOver").mockImplementation((fn) => {
      const end = whenOver(fn);
      waiting.add(fn);
      return () => {
        waiting.delete(fn);
        end();
      };
    });
    const attempt = ask();
    const withdrawn = attempt.withdraw();
    expect(waiting.size).toBe(1);
    made(9n);
    session.answer(session.pending("delete", "/n"), undefined);
    await withdrawn;
    expect(waiting.size).toBe(0);
  });

  it("looks again where its look is refused for good, so that no node of its own stays", async () => {
    const runtime = simulatedRuntime(3);
    scripted = new ScriptedSequence(runtime);
    session = scripted.session;
    const attempt = askAndBreak();
    session.answer(session.pending("sync"), undefined);
    session.refuse(session.pending("exists"), errorCodes.NoAuth);
    expect(await stateOf(attempt.grant)).toBe("open");
    const withdrawn = attempt.withdraw();
    await runtime.advance(250);
    session.answer(session.pending("sync"), undefined);
    seen(9n, session.id);
    session.answer(session.pending("delete", "/n"), undefined);
    await withdrawn;
  });
});

describe("the release of a naive mutex", () => {
  it("that is given back while contact is broken never deletes the node of the next holder", async () => {
    const attempt = ask();
    made(9n);
    const held = await holdOf(attempt);
    session.answer(session.pending("getData"), { data: new Uint8Array(0), stat: stat(9n, session.id) });
    session.cut();
    const released = held.release();
    session.mend();
    expect(session.has("delete")).toBe(false);
    session.answer(session.pending("sync"), undefined);
    seen(10n, 0x99n);
    expect(await released).toBe(false);
  });

  async function releaseUnheard(): Promise<Promise<boolean>> {
    const attempt = ask();
    made(9n);
    const held = await holdOf(attempt);
    session.answer(session.pending("getData"), { data: new Uint8Array(0), stat: stat(9n, session.id) });
    const released = held.release();
    session.cut();
    session.mend();
    return released;
  }

  /** Releases a hold whose watch is not answered yet. An operator may have deleted its node without any watch reporting it. */
  async function releaseUnwatched(): Promise<{ released: Promise<boolean> }> {
    const attempt = ask();
    made(9n);
    const held = await holdOf(attempt);
    const released = held.release();
    expect(session.has("delete")).toBe(false);
    session.answer(session.pending("sync"), undefined);
    return { released };
  }

  it("whose watch is not answered yet leaves alone the node that another client has made since", async () => {
    const { released } = await releaseUnwatched();
    seen(10n, 0x99n);
    expect(await released).toBe(false);
    expect(session.has("delete")).toBe(false);
  });

  it("whose watch is not answered yet deletes the node that is still its own", async () => {
    const { released } = await releaseUnwatched();
    seen(9n, session.id);
    session.answer(session.pending("delete", "/n"), undefined);
    expect(await released).toBe(true);
  });

  it("whose answer was lost never deletes the node of the next holder", async () => {
    const released = releaseUnheard();
    await stateOf(Promise.resolve());
    expect(session.has("delete")).toBe(false);
    session.answer(session.pending("sync"), undefined);
    seen(10n, 0x99n);
    expect(await await released).toBe(true);
    expect(session.has("delete")).toBe(false);
  });

  it("whose answer was lost is repeated while the node is still the one", async () => {
    const released = releaseUnheard();
    await stateOf(Promise.resolve());
    session.answer(session.pending("sync"), undefined);
    seen(9n, session.id);
    session.answer(session.pending("delete", "/n"), undefined);
    expect(await await released).toBe(true);
  });
});
