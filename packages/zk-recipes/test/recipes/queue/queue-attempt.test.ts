import { EvictedError, LayoutConflictError } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { mutexRule } from "../../../src/layout/queue-rules.js";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { QueueAttempt } from "../../../src/recipes/queue/queue-attempt.js";
import { delivered, RecordedAttempt } from "../support/recorded-attempt.js";
import { ScriptedSequence, stateOf } from "../support/scripted-sequence.js";
import { type ScriptedSession, stat } from "../support/scripted-session.js";

let scripted: ScriptedSequence;
let contender: RecordedAttempt;
let heard: string[];

const session = (): ScriptedSession => scripted.session;

function ask(mayWait: boolean, keepAskMs = 0): RecordedAttempt {
  const spec = { lockName: "l", parent: "/l", rule: mutexRule, data: new Uint8Array(0), keepAskMs };
  const { context, settings } = scripted;
  return new RecordedAttempt(
    (listener) => new QueueAttempt(context, settings, [{ ...spec, mayWait, revocable: false }], listener),
  );
}

function contend(mayWait = true): void {
  scripted = new ScriptedSequence();
  contender = ask(mayWait);
  heard = contender.heard;
}
beforeEach(() => contend());

/** Answers the create and the listing. The nodes in `ahead` stand before ours. */
function enqueue(sequence: string, ahead: readonly string[] = []): string {
  const sent = session().pending("create2");
  const path = sent.path + sequence;
  session().answer(sent, { path, stat: stat(50n, session().id) });
  session().answer(session().pending("getChildren2"), { children: [...ahead, path.slice(3)] });
  return path;
}

describe("a contender", () => {
  it("holds with the creation's zxid as token", async () => {
    enqueue("0000000000");
    expect(await contender.grant).toMatchObject({ token: 50n, roundTrips: 1, contended: false });
  });

  it("of a free lock waits for a new listing while the lease is not ahead", async () => {
    session().leaseUntil = 0;
    const path = enqueue("0000000000");
    expect(await stateOf(contender.grant)).toBe("open");
    session().answer(session().pending("sync"), { path: "/" });
    // After an answer that does not help, the next listing comes after a pause.
    expect(session().has("getChildren2")).toBe(false);
    session().leaseUntil = Number.MAX_SAFE_INTEGER;
    await eventually(() => session().has("getChildren2"), { what: "the next listing" });
    session().answer(session().pending("getChildren2"), { children: [path.slice(3)] });
    expect(await contender.grant).toMatchObject({ token: 50n });
  });

  it("whose listing does not show its node is not granted, although no other is ahead", async () => {
    const sent = session().pending("create2");
    session().answer(sent, { path: `${sent.path}0000000000`, stat: stat(50n, session().id) });
    session().answer(session().pending("getChildren2"), { children: [] });
    session().answer(session().pending("sync"), undefined);
    session().answer(session().pending("delete"), undefined);
    await expect(contender.grant).rejects.toThrow(EvictedError);
  });

  it("that asks once is refused at once where contact is gone, although its node cannot be deleted now", async () => {
    scripted = new ScriptedSequence();
    contender = ask(false, 5);
    enqueue("0000000001", ["_c_00000000-0000-4000-e000-000000000001-lock-0000000000"]);
    session().become("suspended");
    await eventually(async () => (await stateOf(contender.grant)) !== "open", { what: "the refusal" });
    expect(await contender.grant).toBeNull();
  });

  it("that finds another kind of lock on its path deletes its node and fails", async () => {
    const path = enqueue("0000000000", ["latch-0000000000"]);
    session().answer(session().pending("delete", path.slice(3)), undefined);
    await expect(contender.grant).rejects.toThrow(LayoutConflictError);
  });

  it("that a hold ends whose loss its own listing shows is not granted after that", async () => {
    const held = new ZooKeeperGrant(scripted.context, {
      lockName: "l",
      data: new Uint8Array(0),
      nodes: [{ path: "/l/lock-0000000000", name: "lock-0000000000", czxid: 7n }],
      token: 7n,
      permitIds: [],
      roundTrips: 1,
      contended: false,
      revocable: false,
      watches: [],
    });
    const lost = delivered(held);
    lost.lost = () => void contender.withdraw();
    const path = enqueue("0000000001");
    expect(held.over).toBe(true);
    expect(contender.made).toEqual([]);
    expect(session().has("delete", path.slice(3))).toBe(true);
  });

  it("reports the end of its session with its place and its round trips, and sends nothing more", async () => {
    enqueue("0000000001", ["lock-0000000000"]);
    const first = session();
    first.lose("expired");
    // The two round trips are the create and the watches.
    expect(heard).toEqual(["session ended queued after 2"]);
    await contender.withdraw();
    expect(first.sent).toEqual([]);
    expect(session()).not.toBe(first);
    contender = ask(true);
    enqueue("0000000002");
    expect(await contender.grant).toMatchObject({ contended: false, roundTrips: 1 });
  });

  it("uses a new protection id on each session, and reports no place before its node is there", () => {
    const before = session().pending("create2").path;
    session().lose("expired");
    expect(heard).toEqual(["session ended not queued after 1"]);
    ask(true);
    expect(session().pending("create2").path).not.toBe(before);
  });

  it("is never granted by what the dead session had still to say", async () => {
    enqueue("0000000001", ["lock-0000000000"]);
    const first = session();
    const own = first.pending("getData", "0000000001");
    const holder = first.pending("getData", "0000000000");
    first.answer(own, { data: null, stat: stat(50n, first.id) });
    first.answer(holder, { data: null, stat: stat(40n, 0x99n) });
    first.state = "lost";
    first.leaseUntil = Number.NEGATIVE_INFINITY;
    first.fire("0000000000", "deleted");
    expect(await stateOf(contender.grant)).toBe("open");
  });

  describe("whose node goes in the same breath as its predecessor's", () => {
    beforeEach(async () => {
      enqueue("0000000001", ["lock-0000000000"]);
      const { id } = session();
      session().answer(session().pending("getData", "0000000001"), { data: null, stat: stat(50n, id) });
      session().answer(session().pending("getData", "0000000000"), { data: null, stat: stat(40n, 0x99n) });
      session().fire("0000000000", "deleted");
      session().fire("0000000001", "deleted");
      await Promise.resolve();
    });

    it("is in doubt, and stolen if the session lives", async () => {
      expect(contender.states[0]).toMatchObject({ doubted: true, lossReason: null });
      const proven = contender.made[0]?.prove();
      session().answer(session().pending("sync"), undefined);
      session().noNode(session().pending("exists", "0000000001"));
      expect(await proven).toBeNull();
      expect(contender.states[0]?.lossReason).toBe("stolen");
      await contender.withdraw();
      expect(session().has("delete")).toBe(false);
    });

    it("is lost with the session, if it went with that", () => {
      session().lose("expired");
      expect(heard).toEqual(["notified"]);
      expect(contender.states[0]?.lossReason).toBe("session-expired");
    });

    it("is proven on the next connection, if contact breaks meanwhile", () => {
      session().cut();
      session().mend();
      session().answer(session().pending("sync"), undefined);
      session().noNode(session().pending("exists", "0000000001"));
      expect(contender.states[0]?.lossReason).toBe("stolen");
    });

    it("leaves nothing when it is withdrawn meanwhile", async () => {
      const withdrawn = contender.withdraw();
      session().noNode(session().pending("delete", "0000000001"));
      await withdrawn;
      expect(await stateOf(contender.grant)).toBe("open");
      expect(session().sent).toEqual([]);
    });
  });

  it("answers that the lock is taken only when its node is gone", async () => {
    contend(false);
    const path = enqueue("0000000001", ["lock-0000000000"]);
    expect(await stateOf(contender.grant)).toBe("open");
    session().answer(session().pending("delete", path), undefined);
    expect(await contender.grant).toBeNull();
  });

  it("warns from a counter of 1,000,000,000 and refuses from 2,000,000,000, leaving nothing", async () => {
    enqueue("1000000000");
    expect(heard).toEqual(["high 1000000000"]);
    for (const spent of ["2000000000", "2147483647", "-2147483648"]) {
      contend();
      const path = enqueue(spent);
      session().answer(session().pending("delete", path), undefined);
      await expect(contender.grant).rejects.toThrow(LayoutConflictError);
      await expect(contender.grant).rejects.toThrow(spent);
    }
    contend();
    enqueue("0999999999");
    expect(heard).toEqual([]);
  });
});

describe("a node that the server will not let go of", () => {
  it("is named by the answer that the lock is taken", async () => {
    contend(false);
    const path = enqueue("0000000001", ["lock-0000000000"]);
    session().refuse(session().pending("delete", path), errorCodes.NoAuth);
    await expect(contender.grant).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
    await expect(contender.grant).rejects.toThrow(path);
  });

  it("is named by the withdrawal of a wait", async () => {
    const path = enqueue("0000000001", ["lock-0000000000"]);
    const withdrawn = contender.withdraw();
    session().refuse(session().pending("delete", path), errorCodes.NoAuth);
    await expect(withdrawn).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(await stateOf(contender.grant)).toBe("open");
  });
});

describe("nodes that the server does not show", () => {
  it("are named by the withdrawal of an attempt whose create was not answered", async () => {
    session().cut();
    session().mend();
    const withdrawn = contender.withdraw();
    session().answer(session().pending("sync"), undefined);
    session().refuse(session().pending("getChildren2"), errorCodes.NoAuth);
    await expect(withdrawn).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
  });
});

describe("a contender that meets trouble while it takes itself back", () => {
  it("reports at once when contact breaks, and its node is deleted with the next", async () => {
    contend(false);
    const path = enqueue("0000000001", ["lock-0000000000"]);
    session().cut();
    expect(await contender.grant).toBeNull();
    session().mend();
    session().answer(session().pending("delete", path), undefined);
    await contender.withdraw();
  });
});

describe("a withdrawn contender", () => {
  it("leaves nothing, whether waiting or granted", async () => {
    const path = enqueue("0000000001", ["lock-0000000000"]);
    const withdrawn = contender.withdraw();
    session().answer(session().pending("delete", path), undefined);
    await withdrawn;
    expect(await stateOf(contender.grant)).toBe("open");

    contend();
    const granted = enqueue("0000000000");
    const released = contender.withdraw();
    session().answer(session().pending("delete", granted), undefined);
    await released;
  });

  it("does not report the end of its session when another that hears of the same end withdraws it", () => {
    enqueue("0000000001", ["lock-0000000000"]);
    const second = ask(true);
    contender.onSessionEnded = () => void second.withdraw();
    enqueue("0000000002", ["lock-0000000000"]);
    session().lose("expired");
    expect(heard).toEqual(["session ended queued after 2"]);
    expect(second.heard).toEqual([]);
  });

  it("leaves nothing of a create whose answer is still to come", async () => {
    const create = session().pending("create2");
    const withdrawn = contender.withdraw();
    expect(await stateOf(withdrawn)).toBe("open");
    session().answer(create, { path: `${create.path}0000000000`, stat: stat(50n, session().id) });
    session().answer(session().pending("getChildren2"), { children: [] });
    session().answer(session().pending("delete", "0000000000"), undefined);
    await withdrawn;
    expect(await stateOf(contender.grant)).toBe("open");
  });

  it("does not report the end of its session", () => {
    enqueue("0000000001", ["lock-0000000000"]);
    void contender.withdraw();
    session().lose("expired");
    expect(heard).toEqual([]);
    expect(session().sent).toEqual([]);
  });
});
