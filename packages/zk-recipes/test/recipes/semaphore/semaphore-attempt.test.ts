import { BackendError, EvictedError, InvalidArgumentError, LayoutConflictError } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import type { PermitCount } from "../../../src/recipes/semaphore/permit-count.js";
import { checkBatch, SemaphoreAttempt } from "../../../src/recipes/semaphore/semaphore-attempt.js";
import { delivered, RecordedAttempt } from "../support/recorded-attempt.js";
import { applyAll, nameOf, ScriptedSequence, stateOf, stepsOf } from "../support/scripted-sequence.js";
import { type ScriptedSession, stat } from "../support/scripted-session.js";

let scripted: ScriptedSequence;
let session: ScriptedSession;
let attempt: RecordedAttempt;

function ask(
  permits: number,
  limit: PermitCount,
  { mayWait = true }: { mayWait?: boolean } = {},
): RecordedAttempt {
  const spec = { lockName: "s", path: "/s", data: new Uint8Array(0), permits, limit };
  const { context, settings } = scripted;
  attempt = new RecordedAttempt(
    (listener) => new SemaphoreAttempt(context, settings, { ...spec, mayWait, revocable: false }, listener),
  );
  return attempt;
}

beforeEach(() => {
  scripted = new ScriptedSequence();
  session = scripted.session;
});

const sent = (): string[] =>
  session.sent.map(({ op, path }) => `${op} ${path.replace(/_c_[0-9a-f-]{36}-/, "*")}`);

/** Answers the first write: our queue node stands behind `ahead`, `taken` leases exist, and the count is `count`. */
function enter({ ahead = [] as string[], taken = 0, count = null as number | null, number = 5 }): string {
  const create = session.pending("create2", "lock-");
  const path = create.path + String(number).padStart(10, "0");
  session.answer(create, { path, stat: stat(50n, session.id) });
  session.answer(session.pending("getChildren2", "/s/leases"), { children: leases(taken) });
  if (count !== null) session.answer(session.pending("getData", "/count"), { data: asCount(count) });
  session.answer(session.pending("getChildren2", "/s/locks"), { children: [...ahead, nameOf(path)] });
  return path;
}

const leases = (many: number): string[] => Array.from({ length: many }, (_, i) => `lease-000000000${i}`);

function asCount(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Applies the leases. Answers the listing after them with `others` and our leases. */
function take(others: readonly string[], zxid = 70n): string[] {
  const paths = applyAll(session, session.pending("multi"), zxid);
  session.answer(session.pending("getChildren2", "/s/leases"), {
    children: [...others, ...paths.map(nameOf)],
  });
  return paths;
}

async function hold(): Promise<ZooKeeperGrant> {
  const granted = await stateOf(attempt.grant);
  if (granted === "open" || "error" in granted || granted.value === null) throw new Error("not granted");
  return granted.value;
}

const counted: PermitCount = { countPath: "/count" };

describe("permits that are free", () => {
  it("are taken in two round trips, and the queue is left behind without waiting for an answer", async () => {
    ask(1, 3);
    expect(sent()).toEqual(["create2 /s/locks/*lock-", "getChildren2 /s/leases", "getChildren2 /s/locks"]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    const queued = enter({ taken: 2 });
    expect(sent()).toEqual(["multi ", "getChildren2 /s/leases"]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    take(leases(2));
    expect(session.sent.map(({ op, path }) => `${op} ${path}`)).toEqual([`delete ${queued}`]);
    expect(await hold()).toMatchObject({ roundTrips: 2, contended: false, token: 70n });
  });

  it("are not granted once a loss that their listing shows has withdrawn the attempt", () => {
    const held = new ZooKeeperGrant(scripted.context, {
      lockName: "s",
      data: new Uint8Array(0),
      nodes: [{ path: "/s/leases/lease-0000000000", name: "lease-0000000000", czxid: 7n }],
      token: 7n,
      roundTrips: 1,
      contended: false,
      place: undefined,
      revocable: false,
    });
    delivered(held).lost = () => void attempt.withdraw();
    ask(1, 3);
    enter({ taken: 1 });
    take([]);
    expect(held.over).toBe(true);
    expect(attempt.made).toEqual([]);
  });

  it("are one hold, each with a node and an id of its own, under the zxid of the transaction", async () => {
    ask(3, 3);
    enter({});
    const steps = stepsOf(session.pending("multi"));
    expect(steps).toHaveLength(3);
    const paths = take([], 99n);
    expect(await hold()).toMatchObject({ token: 99n, permitIds: paths, backendId: paths[0] });
    expect(new Set(paths.map((path) => path.slice(0, 50))).size).toBe(3);
  });

  it("are as many as the shared count says, which is read in the first write", async () => {
    ask(2, counted);
    expect(sent()).toContain("getData /count");
    enter({ taken: 3, count: 5 });
    take(leases(3));
    expect(await hold()).toMatchObject({ roundTrips: 2 });
  });

  it("make the parents of queue and leases in one write where there are none", () => {
    ask(1, 1);
    session.noNode(session.pending("create2"));
    session.noNode(session.pending("getChildren2", "/leases"));
    session.noNode(session.pending("getChildren2", "/locks"));
    expect(sent()).toEqual([
      "createContainer /s",
      "createContainer /s/locks",
      "createContainer /s/leases",
      "create2 /s/locks/*lock-",
      "getChildren2 /s/leases",
      "getChildren2 /s/locks",
    ]);
  });
});

describe("a request that is not at the head of the queue", () => {
  it("puts no lease there, however many are free", () => {
    ask(1, 3);
    enter({ ahead: ["lock-0000000001"] });
    expect(session.has("multi")).toBe(false);
  });

  it("looks afresh when its turn comes, and then takes", async () => {
    ask(1, 3);
    const own = enter({ ahead: ["lock-0000000001"] });
    session.answer(session.pending("getData", nameOf(own)), { data: null, stat: stat(50n, session.id) });
    session.answer(session.pending("getData", "0000000001"), { data: null, stat: stat(40n, 0x99n) });
    session.fire("0000000001", "deleted");
    expect(session.has("multi")).toBe(false);
    const look = session.pending("getChildren2", "/leases");
    expect(look.watch).toBe(true);
    session.answer(look, { children: leases(2) });
    take(leases(2));
    expect(await hold()).toMatchObject({ contended: true });
    expect(attempt.heard).toEqual(["notified"]);
  });

  it("that may not wait is refused once its node is gone", async () => {
    ask(1, 3, { mayWait: false });
    enter({ ahead: ["lock-0000000001"] });
    expect(await stateOf(attempt.grant)).toBe("open");
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    expect(await attempt.grant).toBeNull();
  });
});

describe("the head of the queue, when there is no room", () => {
  it("holds no lease, watches leases, count and its own node, and takes when one goes", async () => {
    ask(2, counted);
    const own = enter({ taken: 4, count: 5 });
    expect(session.has("multi")).toBe(false);
    expect(session.sent.map(({ op, path, watch }) => `${op} ${path} ${watch}`)).toEqual([
      `getData ${own} true`,
      "getChildren2 /s/leases true",
      "getData /count true",
    ]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    session.answer(session.pending("getChildren2"), { children: leases(4) });
    session.answer(session.pending("getData", "/count"), { data: asCount(5) });
    session.fire("/s/leases", "children-changed");
    expect(attempt.heard).toEqual(["notified"]);
    session.answer(session.pending("getChildren2"), { children: leases(3) });
    take(leases(3));
    expect(await hold()).toMatchObject({ contended: true });
  });

  it("takes when the count is raised, and not before", async () => {
    ask(2, counted);
    enter({ taken: 4, count: 4 });
    session.answer(session.pending("getChildren2"), { children: leases(4) });
    session.answer(session.pending("getData", "/count"), { data: asCount(4) });
    session.fire("/count", "data-changed");
    session.answer(session.pending("getData", "/count"), { data: asCount(5) });
    expect(session.has("multi")).toBe(false);
    session.fire("/count", "data-changed");
    session.answer(session.pending("getData", "/count"), { data: asCount(6) });
    take(leases(4));
    await hold();
  });

  it("reads again, after a pause, what a busy server has refused to read, and then takes", async () => {
    ask(2, counted);
    enter({ taken: 4, count: 5 });
    session.answer(session.pending("getData", "/count"), { data: asCount(5) });
    session.refuse(session.pending("getChildren2"), errorCodes.OperationTimeout);
    expect(session.has("getChildren2")).toBe(false);
    await expect.poll(() => session.has("getChildren2")).toBe(true);
    const again = session.pending("getChildren2", "/leases");
    expect(again.watch).toBe(true);
    session.answer(again, { children: leases(3) });
    take(leases(3));
    await hold();
  });

  it("that may not wait is refused", async () => {
    ask(1, 2, { mayWait: false });
    enter({ taken: 2 });
    expect(sent()).toEqual(["delete /s/locks/*lock-0000000005"]);
    session.answer(session.pending("delete"), undefined);
    expect(await attempt.grant).toBeNull();
  });

  it("is evicted when another client deletes its queue node and its session lives", async () => {
    ask(1, 2);
    const own = enter({ taken: 2 });
    session.answer(session.pending("getData", nameOf(own)), { data: null, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2"), { children: leases(2) });
    session.fire(nameOf(own), "deleted");
    session.answer(session.pending("sync"), undefined);
    session.noNode(session.pending("delete", nameOf(own)));
    await expect(attempt.grant).rejects.toThrow(EvictedError);
    expect(session.has("multi")).toBe(false);
  });

  it("whose node goes with its session is not evicted, but requeued", async () => {
    ask(1, 2);
    const own = enter({ taken: 2 });
    session.answer(session.pending("getData", nameOf(own)), { data: null, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2"), { children: leases(2) });
    session.fire(nameOf(own), "deleted");
    session.lose("expired");
    expect(await stateOf(attempt.grant)).toBe("open");
    expect(attempt.heard).toEqual(["session ended queued after 2"]);
  });

  it("does not take the word of a server that it was evicted after contact broke", async () => {
    ask(1, 2);
    const own = enter({ taken: 2 });
    session.answer(session.pending("getData", nameOf(own)), { data: null, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2"), { children: leases(2) });
    session.fire(nameOf(own), "deleted");
    session.cut();
    expect(await stateOf(attempt.grant)).toBe("open");
    session.mend();
    session.answer(session.pending("sync"), undefined);
    session.noNode(session.pending("delete", nameOf(own)));
    await expect(attempt.grant).rejects.toThrow(EvictedError);
  });

  it("stands at the tail of the next session's queue when its own ends", async () => {
    ask(1, 2);
    enter({ taken: 2 });
    session.lose("expired");
    expect(attempt.heard).toEqual(["session ended queued after 2"]);
    session = scripted.session;
    expect(scripted.sessions).toHaveLength(2);
    ask(1, 2);
    enter({ taken: 1 });
    take(leases(1));
    expect(await hold()).toMatchObject({ roundTrips: 2 });
  });

  it("does not listen to a listing that a dead session's server still sends", async () => {
    ask(1, 2);
    enter({ taken: 2 });
    const late = session.pending("getChildren2");
    const first = session;
    first.sent.splice(first.sent.indexOf(late), 1);
    first.lose("expired");
    late.settle({ ok: true, value: { children: [] } as never, zxid: 1n });
    expect(first.has("multi")).toBe(false);
  });
});

describe("the check behind the create", () => {
  it("gives all of it back when there are more than the limit, and waits on", async () => {
    ask(2, 3);
    enter({ taken: 1 });
    const paths = take(leases(2));
    expect(session.sent.map(({ op, path }) => `${op} ${path}`).sort()).toEqual(
      [
        `delete ${paths[0]}`,
        `delete ${paths[1]}`,
        "getChildren2 /s/leases",
        `getData ${session.pending("getData").path}`,
      ].sort(),
    );
    expect(await stateOf(attempt.grant)).toBe("open");
    // The listing is sent after the deletes, so that it does not show our leases.
    expect(session.sent.findIndex(({ op }) => op === "getChildren2")).toBeGreaterThan(1);
    for (const path of paths) session.answer(session.pending("delete", path), undefined);
    session.answer(session.pending("getChildren2"), { children: leases(2) });
    expect(session.has("multi")).toBe(false);
    session.fire("/s/leases", "children-changed");
    session.answer(session.pending("getChildren2"), { children: leases(1) });
    take(leases(1));
    await hold();
  });

  it("takes back what it has when one of the leases was deleted at once", async () => {
    ask(2, 3);
    enter({});
    const paths = applyAll(session, session.pending("multi"), 70n);
    session.answer(session.pending("getChildren2", "/leases"), { children: [nameOf(paths[1] as string)] });
    session.answer(session.pending("sync"), undefined);
    for (const path of paths) session.answer(session.pending("delete", path), undefined);
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    await expect(attempt.grant).rejects.toThrow(EvictedError);
  });

  it("waits for a session whose lease is ahead, and then looks again", async () => {
    ask(1, 1);
    enter({});
    session.leaseUntil = 0;
    const paths = take([]);
    expect(await stateOf(attempt.grant)).toBe("open");
    expect(session.has("getChildren2", "/leases")).toBe(false);
    session.leaseUntil = Number.MAX_SAFE_INTEGER;
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2", "/leases"), { children: paths.map(nameOf) });
    expect(await hold()).toMatchObject({ roundTrips: 3 });
  });

  it("does not count on what was read before an outage", async () => {
    ask(1, 1);
    enter({});
    const paths = applyAll(session, session.pending("multi"), 70n);
    session.cut();
    session.mend();
    session.answer(session.pending("getChildren2", "/leases"), {
      children: [...leases(1), ...paths.map(nameOf)],
    });
    expect(await stateOf(attempt.grant)).toBe("open");
    expect(session.has("delete", paths[0])).toBe(true);
  });
});

describe("a lost answer to the leases", () => {
  it("is looked up by name behind a sync, and the same leases are used", async () => {
    ask(2, 2);
    enter({});
    const paths = [...pathsIn()];
    session.cut();
    session.mend();
    expect(session.sent.map(({ op }) => op)).toEqual(["sync", "getChildren2"]);
    session.answer(session.pending("sync"), undefined);
    session.answer(session.pending("getChildren2", "/leases"), { children: paths.map(nameOf) });
    expect(session.has("multi")).toBe(false);
    session.answer(session.pending("exists", paths[0]), { stat: stat(70n, session.id) });
    session.answer(session.pending("exists", paths[1]), { stat: stat(70n, session.id) });
    session.answer(session.pending("getChildren2", "/leases"), { children: paths.map(nameOf) });
    expect(await hold()).toMatchObject({ permitIds: paths, token: 70n });
  });

  it("of which only a part is found gives that part back before it takes all anew", async () => {
    ask(2, 2);
    enter({});
    const [first, second] = pathsIn() as [string, string];
    session.cut();
    session.mend();
    session.answer(session.pending("sync"), undefined);
    session.answer(session.pending("getChildren2", "/leases"), { children: [nameOf(second)] });
    expect(session.has("multi")).toBe(false);
    expect(session.has("delete", first)).toBe(false);
    session.answer(session.pending("delete", second), undefined);
    take([]);
    expect((await hold()).nodes).toHaveLength(2);
  });

  it("is looked up again, after a pause, when the sync was not answered well, whatever was listed", async () => {
    ask(1, 1);
    enter({});
    session.cut();
    session.mend();
    session.refuse(session.pending("sync"), errorCodes.OperationTimeout);
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    expect(session.sent).toEqual([]);
    await expect.poll(() => session.sent.map(({ op }) => op)).toEqual(["sync", "getChildren2"]);
  });

  it("of which nothing is found takes anew", async () => {
    ask(1, 1);
    enter({});
    session.cut();
    session.mend();
    session.answer(session.pending("sync"), undefined);
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    take([]);
    await hold();
  });

  /** The paths that the leases of the pending transaction will get. */
  function pathsIn(): string[] {
    return stepsOf(session.pending("multi")).map(({ request }, i) => `${request.path}000000000${i}`);
  }
});

describe("a withdrawn request", () => {
  it("leaves nothing when its queue node is on its way", async () => {
    ask(1, 1);
    const withdrawn = attempt.withdraw();
    const create = session.pending("create2");
    session.answer(create, { path: `${create.path}0000000000`, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    session.answer(session.pending("getChildren2", "/locks"), { children: [] });
    expect(session.has("multi")).toBe(false);
    session.answer(session.pending("delete", "lock-0000000000"), undefined);
    await withdrawn;
    expect(session.sent).toEqual([]);
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  it("leaves nothing when it waits", async () => {
    ask(1, 1);
    enter({ taken: 1 });
    const withdrawn = attempt.withdraw();
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    await withdrawn;
  });

  it("takes back leases that are on their way, and its queue node", async () => {
    ask(2, 2);
    enter({});
    const withdrawn = attempt.withdraw();
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    const paths = take([]);
    expect(await stateOf(withdrawn)).toBe("open");
    for (const path of paths) session.answer(session.pending("delete", path), undefined);
    await withdrawn;
    expect(await stateOf(attempt.grant)).toBe("open");
  });

  it("looks for leases whose answer was lost before it says that nothing is left", async () => {
    ask(1, 1);
    enter({});
    const made = `${stepsOf(session.pending("multi"))[0]?.request.path}0000000000`;
    const withdrawn = attempt.withdraw();
    session.cut();
    session.mend();
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    session.answer(session.pending("sync"), undefined);
    expect(await stateOf(withdrawn)).toBe("open");
    session.answer(session.pending("getChildren2", "/leases"), { children: [nameOf(made)] });
    session.answer(session.pending("delete", made), undefined);
    await withdrawn;
  });

  it("releases what was granted in the same breath", async () => {
    ask(1, 1);
    enter({});
    const paths = take([]);
    const withdrawn = attempt.withdraw();
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    session.answer(session.pending("delete", paths[0]), undefined);
    await withdrawn;
    expect(await stateOf(attempt.grant)).toBe("open");
  });
});

describe("what cannot be", () => {
  it("a count that is not there is named, with what to do", async () => {
    ask(1, counted);
    const create = session.pending("create2");
    session.answer(create, { path: `${create.path}0000000000`, stat: stat(50n, session.id) });
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    session.noNode(session.pending("getData", "/count"));
    session.answer(session.pending("getChildren2", "/locks"), {
      children: [`${nameOf(create.path)}0000000000`],
    });
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    session.noNode(session.pending("getData", "/count"));
    session.answer(session.pending("delete"), undefined);
    await expect(attempt.grant).rejects.toThrow(/no shared count at \/count .* create the count first/);
    await expect(attempt.grant).rejects.toThrow(LayoutConflictError);
  });

  it("a count of another size is refused", async () => {
    ask(1, counted);
    enter({ taken: 1, count: 1 });
    session.answer(session.pending("getData", "/count"), { data: new Uint8Array(8) });
    session.answer(session.pending("delete"), undefined);
    await expect(attempt.grant).rejects.toThrow(/\/count has 8 bytes/);
    await expect(attempt.grant).rejects.toThrow(LayoutConflictError);
  });

  it("a spent counter of leases is refused, and they are given back", async () => {
    ask(1, 1);
    enter({});
    const paths = applyAll(session, session.pending("multi"), 70n, 2_000_000_000);
    session.answer(session.pending("getChildren2", "/leases"), { children: paths.map(nameOf) });
    session.answer(session.pending("delete", paths[0]), undefined);
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    await expect(attempt.grant).rejects.toThrow(/the sequence counter of \/s\/leases stands at 2000000000/);
  });

  it("a high counter of leases is reported", async () => {
    ask(1, 1);
    enter({});
    const paths = applyAll(session, session.pending("multi"), 70n, 1_000_000_000);
    session.answer(session.pending("getChildren2", "/leases"), { children: paths.map(nameOf) });
    await hold();
    expect(attempt.heard).toEqual(["high 1000000000"]);
  });

  it("leases that may not be made are an error, once the queue node is gone", async () => {
    ask(1, 1);
    enter({});
    const results = [{ op: "error", code: errorCodes.NoAuth }];
    session.answer(session.pending("multi"), { results });
    session.answer(session.pending("getChildren2", "/leases"), { children: [] });
    expect(await stateOf(attempt.grant)).toBe("open");
    session.answer(session.pending("delete"), undefined);
    await expect(attempt.grant).rejects.toThrow(BackendError);
    await expect(attempt.grant).rejects.toThrow(/queueing on \/s\/leases: NoAuth/);
  });
});

describe("held permits", () => {
  it("are released when their queue node is gone too", async () => {
    ask(1, 1);
    enter({});
    const [lease] = take([]);
    const released = (await hold()).release();
    session.answer(session.pending("delete", lease), undefined);
    expect(await stateOf(released)).toBe("open");
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    expect(await released).toBe(true);
  });

  it("whose queue node the server will not delete are not released without a word", async () => {
    ask(1, 1);
    enter({});
    const [lease] = take([]);
    const held = await hold();
    session.refuse(session.pending("delete", "lock-0000000005"), errorCodes.NoAuth);
    const released = held.release();
    session.answer(session.pending("delete", lease), undefined);
    await expect(released).rejects.toThrow(/taking \/s\/locks\/.* off the queue: NoAuth/);
  });

  it("are all deleted when one of them is missing from the listing of another request", async () => {
    ask(2, 3);
    enter({});
    const [first, second] = take([]) as [string, string];
    const held = await hold();
    const [state] = attempt.states;
    expect(held.over).toBe(false);
    session.answer(session.pending("delete", "lock-0000000005"), undefined);
    ask(1, 3, { mayWait: true });
    enter({ taken: 1, number: 6 });
    session.answer(session.pending("multi"), {
      results: [{ op: "create", path: "/s/leases/_c_x-lease-0000000002" }],
    });
    session.answer(session.pending("getChildren2", "/leases"), {
      children: [nameOf(first), "_c_x-lease-0000000002"],
    });
    expect(state?.heard).toEqual(["lost stolen"]);
    expect(session.has("delete", second)).toBe(true);
  });
});

describe("a batch of permits that no transaction of a server takes", () => {
  const askFor = (permits: number): void => {
    const path = `/${"long-".repeat(10)}`;
    const spec = { lockName: "s", path, data: new Uint8Array(0), permits, limit: 20_000 };
    checkBatch({ ...spec, mayWait: true, revocable: false }, scripted.settings);
  };

  it("is refused with the number that fits", () => {
    expect(() => askFor(10_000)).toThrow(InvalidArgumentError);
    expect(() => askFor(10_000)).toThrow(/permits = 10000 do not fit .* ask for \d+ at most/);
  });

  it("is found by its size, to the permit", () => {
    expect(() => askFor(6_854)).toThrow(/ask for 6853 at most/);
    expect(() => askFor(6_853)).not.toThrow();
  });
});
