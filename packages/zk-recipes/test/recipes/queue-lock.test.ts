import { EvictedError, LayoutConflictError, ProviderClosedError, type TicketProgress } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { mutexRule } from "../../src/layout/queue-rules.js";
import type { Hold } from "../../src/recipes/hold.js";
import { requestPlace } from "../../src/recipes/queue-lock.js";
import type { SessionTicket } from "../../src/recipes/session-ticket.js";
import { ScriptedLine, stateOf } from "./scripted-line.js";
import { type ScriptedSession, stat } from "./scripted-session.js";

let scripted: ScriptedLine;
let contender: SessionTicket<Hold>;
let told: string[];

const session = (): ScriptedSession => scripted.session;

function ask(mayWait: boolean, progress: Partial<TicketProgress> = {}): SessionTicket<Hold> {
  return requestPlace(
    scripted.line,
    scripted.settings,
    { lockName: "l", parent: "/l", rule: mutexRule, data: new Uint8Array(0), mayWait, revocable: false },
    { ...scripted.progress, ...progress },
  );
}

function contend(mayWait = true): void {
  scripted = new ScriptedLine();
  told = scripted.told;
  contender = ask(mayWait);
}
beforeEach(() => contend());

/** Answers create and listing; `ahead` stand before us. */
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
    expect(await contender.granted).toMatchObject({ token: 50n, roundTrips: 1, contended: false });
  });

  it("stands at the tail of the next session's queue when its session ends", async () => {
    enqueue("0000000001", ["lock-0000000000"]);
    const first = session();
    first.lose("expired");
    expect(told).toEqual(["requeued session-lost"]);
    expect(session()).not.toBe(first);
    enqueue("0000000002");
    expect(await contender.granted).toMatchObject({ contended: false });
  });

  it("uses a new protection id on each session", () => {
    const before = session().pending("create2").path;
    session().lose("expired");
    expect(session().pending("create2").path).not.toBe(before);
    expect(told).toEqual([]);
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
    let settled = false;
    contender.granted.then(() => {
      settled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(false);
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

    it("is evicted, if the session lives", async () => {
      session().answer(session().pending("sync"), undefined);
      await expect(contender.granted).rejects.toThrow(EvictedError);
      await contender.cancel();
      expect(session().has("delete")).toBe(false);
    });

    it("stands at the tail of the next session's queue, if it went with the session", async () => {
      session().lose("expired");
      expect(told).toEqual(["notified", "requeued session-lost"]);
      enqueue("0000000002");
      // The create, the watches and the new create: what led to nothing is counted too.
      expect(await contender.granted).toMatchObject({ contended: false, roundTrips: 3 });
    });

    it("asks again on the next connection, if contact breaks meanwhile", async () => {
      session().cut();
      session().mend();
      session().lose("expired");
      expect(told).toEqual(["notified", "requeued session-lost"]);
    });

    it("leaves nothing when it is cancelled meanwhile", async () => {
      await contender.cancel();
      session().answer(session().pending("sync"), undefined);
      expect(await contender.granted).toBeNull();
      expect(session().has("delete")).toBe(false);
    });
  });

  it("ends with the provider", async () => {
    enqueue("0000000001", ["lock-0000000000"]);
    await scripted.line.close(0);
    await expect(contender.granted).rejects.toThrow(ProviderClosedError);
    expect(told).toEqual([]);
  });

  it("answers that the lock is taken only when its node is gone", async () => {
    contend(false);
    const path = enqueue("0000000001", ["lock-0000000000"]);
    let answer: unknown = "none yet";
    contender.granted.then((granted) => {
      answer = granted;
    });
    await Promise.resolve();
    expect(answer).toBe("none yet");
    session().answer(session().pending("delete", path), undefined);
    expect(await contender.granted).toBeNull();
  });

  it("warns from a counter of 1,000,000,000 and refuses from 2,000,000,000, leaving nothing", async () => {
    enqueue("1000000000");
    expect(told).toEqual(["high 1000000000"]);
    for (const spent of ["2000000000", "2147483647", "-2147483648"]) {
      contend();
      const path = enqueue(spent);
      session().answer(session().pending("delete", path), undefined);
      await expect(contender.granted).rejects.toThrow(LayoutConflictError);
      await expect(contender.granted).rejects.toThrow(spent);
    }
    contend();
    enqueue("0999999999");
    expect(told).toEqual([]);
  });
});

describe("a node that the server will not let go of", () => {
  it("is told of by the answer that the lock is taken", async () => {
    contend(false);
    const path = enqueue("0000000001", ["lock-0000000000"]);
    session().refuse(session().pending("delete", path), errorCodes.NoAuth);
    await expect(contender.granted).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
    await expect(contender.granted).rejects.toThrow(path);
  });

  it("is told of by the cancel of a wait", async () => {
    const path = enqueue("0000000001", ["lock-0000000000"]);
    const cancelled = contender.cancel();
    session().refuse(session().pending("delete", path), errorCodes.NoAuth);
    await expect(cancelled).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(await contender.granted).toBeNull();
  });
});

describe("a cancelled contender", () => {
  it("leaves nothing, whether waiting or granted", async () => {
    const path = enqueue("0000000001", ["lock-0000000000"]);
    const cancelled = contender.cancel();
    session().answer(session().pending("delete", path), undefined);
    await cancelled;
    expect(await contender.granted).toBeNull();

    contend();
    const granted = enqueue("0000000000");
    const released = contender.cancel();
    session().answer(session().pending("delete", granted), undefined);
    await released;
  });

  it("does not queue again when another that hears of the same end cancels it", () => {
    let second: SessionTicket<Hold> | null = null;
    contender = ask(true, { requeued: () => void second?.cancel() });
    enqueue("0000000001", ["lock-0000000000"]);
    enqueue("0000000002", ["lock-0000000000"]);
    second = ask(true);
    enqueue("0000000003", ["lock-0000000000"]);
    session().lose("expired");
    expect(told).toEqual(["requeued session-lost"]);
    expect(session().sent.filter(({ op }) => op === "create2")).toHaveLength(2);
  });

  it("leaves nothing of a create whose answer is still to come", async () => {
    const create = session().pending("create2");
    const cancelled = contender.cancel();
    expect(await stateOf(cancelled)).toBe("open");
    session().answer(create, { path: `${create.path}0000000000`, stat: stat(50n, session().id) });
    session().answer(session().pending("getChildren2"), { children: [] });
    session().answer(session().pending("delete", "0000000000"), undefined);
    await cancelled;
    expect(await contender.granted).toBeNull();
  });

  it("that had no connection yet asks for nothing when there is one", async () => {
    session().cut();
    contender = ask(true);
    const before = session().sent.length;
    await contender.cancel();
    session().mend();
    expect(
      session()
        .sent.slice(before)
        .filter(({ op }) => op === "create2"),
    ).toEqual([]);
    expect(await contender.granted).toBeNull();
  });

  it("does not queue again when its session ends", () => {
    enqueue("0000000001", ["lock-0000000000"]);
    void contender.cancel();
    session().lose("expired");
    expect(told).toEqual([]);
    expect(session().sent).toEqual([]);
  });
});
