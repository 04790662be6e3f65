import { type Runtime, systemRuntime } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, test } from "vitest";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered, RecordedState } from "../support/recorded-attempt.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

/** More holds than are notified in one turn of the event loop. */
const many = 100;

interface Hold {
  readonly grant: ZooKeeperGrant;
  readonly heard: string[];
}

let session: ScriptedSession;
let holds: Hold[];

beforeEach(() => {
  // Each reading of the clock adds 1 ms, as if many items had been handled meanwhile.
  let nowMs = 0;
  const runtime: Runtime = Object.create(systemRuntime, { nowMs: { value: () => ++nowMs } });
  session = new ScriptedSession();
  const context = new SessionContext(session, runtime);
  holds = Array.from({ length: many }, (_, i) => {
    const grant = new ZooKeeperGrant(context, {
      lockName: `l${i}`,
      data: new Uint8Array(0),
      nodes: [{ path: `/l${i}/own`, name: "own", czxid: 7n }],
      token: 7n,
      roundTrips: 1,
      contended: false,
      revocable: false,
    });
    const state = new RecordedState(i < many - 1);
    grant.begin(state);
    return { grant, heard: state.heard };
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function allTurns(): Promise<void> {
  for (let i = 0; i < 2 * many; i++) await turn();
}

function answerLooks(): void {
  while (session.has("sync")) session.answer(session.pending("sync"), { path: "/" });
  while (session.has("exists")) session.answer(session.pending("exists"), { stat: stat(7n, session.id) });
}

const at = (index: number): Hold => holds.at(index) as Hold;
const heardBy = (index: number): readonly string[] => at(index).heard;
const heardOnce = (expected: readonly string[]): void => {
  for (const { heard } of holds) expect(heard).toEqual(expected);
};

describe("very many grants of one session", () => {
  it("are notified of its end in turns, and one that is asked before its turn is over at once", async () => {
    session.lose("expired");
    const [early, late] = [heardBy(0), heardBy(-2)];
    expect([...early, ...late]).toEqual(["lost session-expired"]);
    expect(at(-2).grant.validUntilMs()).toBe(0);
    expect(late).toEqual(["lost session-expired"]);
    await allTurns();
    heardOnce(["lost session-expired"]);
  });

  it("are notified at once where their callers do not have them: those go on to the next session", () => {
    session.lose("expired");
    expect(heardBy(-1)).toEqual(["lost session-expired"]);
  });

  it("are notified of a break in turns, and one that is asked before its turn is in doubt at once", async () => {
    session.cut();
    expect([...heardBy(0), ...heardBy(-2)]).toEqual(["uncertain"]);
    at(-2).grant.validUntilMs();
    expect(heardBy(-2)).toEqual(["uncertain"]);
    await allTurns();
    heardOnce(["uncertain"]);
  });

  it("are notified of a break at once where their callers do not have them: nothing is delivered unproven", () => {
    session.cut();
    expect(heardBy(-1)).toEqual(["uncertain"]);
  });

  it("are all looked at, and none is left in doubt, when contact is back before they were notified of the break", async () => {
    session.cut();
    session.mend();
    for (let i = 0; i < 2 * many; i++) {
      answerLooks();
      await turn();
    }
    heardOnce(["uncertain", "recovered"]);
  });

  it("stay in doubt where contact is in doubt again by the time at which a look shows them", async () => {
    session.cut();
    session.mend();
    for (let i = 0; i < 2 * many && !session.has("exists"); i++) await turn();
    session.state = "suspended";
    answerLooks();
    expect(heardBy(0)).toEqual(["uncertain"]);
  });

  it("are not walked for each attempt at a connection that fails", () => {
    let asked = 0;
    at(0).grant.context.grants.add({
      nodes: [],
      token: 1n,
      grantedAtMs: 0,
      over: false,
      doubted: false,
      get toldAtOnce() {
        asked++;
        return false;
      },
      hear: () => {},
      look: () => {},
      recover: () => {},
      contactBroke: () => {},
      gone: () => {},
      attend: () => {},
    });
    session.cut();
    const once = asked;
    session.dialInVain();
    session.dialInVain();
    expect(asked).toBe(once);
    session.mend();
    session.cut();
    expect(asked).toBe(2 * once);
  });

  it("are looked at behind the sync of the latest contact alone", async () => {
    session.cut();
    await allTurns();
    session.mend();
    // On a slow machine grants that have lasted for a while have got their watches by now, too.
    expect(session.sent.filter(({ op }) => op === "exists").length).toBeLessThan(many);
    session.cut();
    session.mend();
    await allTurns();
    expect(session.sent.filter(({ op }) => op === "sync")).toHaveLength(1);
    expect(session.sent.filter(({ op }) => op === "exists")).toHaveLength(many);
    answerLooks();
    heardOnce(["uncertain", "recovered"]);
  });

  it("are not looked at once they are released", async () => {
    session.cut();
    await allTurns();
    session.mend();
    void at(-2).grant.release();
    await allTurns();
    expect(session.has("exists", "/l97/own")).toBe(true);
    expect(session.has("exists", "/l98/own")).toBe(false);
  });
});

test("a grant in doubt whose node the server does not let us look at is looked at ever less often, and recovers", async () => {
  const clock = simulatedRuntime(1);
  const { parts } = at(0).grant;
  session = new ScriptedSession();
  const { heard } = delivered(new ZooKeeperGrant(new SessionContext(session, clock), parts));
  const looked = (settle: () => void): void => {
    session.answer(session.pending("sync"), { path: "/" });
    settle();
  };
  const refuse = (): void => session.refuse(session.pending("exists"), errorCodes.NoAuth);
  session.cut();
  session.mend();
  looked(refuse);
  await clock.advance(250);
  looked(refuse);
  await clock.advance(250);
  expect(session.has("exists")).toBe(false);
  await clock.advance(250);
  looked(() => session.answer(session.pending("exists"), { stat: stat(7n, session.id) }));
  expect(heard).toEqual(["uncertain", "recovered"]);
});
