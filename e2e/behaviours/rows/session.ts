import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { standstill } from "../../support/standstill.js";
import { type Client, levelsOf, type Site } from "../site.js";

/** The delay that a machine may add to a timer, besides the time for which this process stood still. */
const slackMs = 1_000;

function statesOf({ locks }: Client): { state: string; timeoutMs: number; at: number }[] {
  const heard: { state: string; timeoutMs: number; at: number }[] = [];
  locks.events.on("session-state", (event) => heard.push(event));
  return heard;
}

/** 65: the states of a session. */
export function sessionRows(site: Site): void {
  it("65: out of contact a session is suspended, lost within the negotiated time, and another one connected", async () => {
    const client = await site.client({ sessionTimeoutMs: 2_000 });
    const operator = await site.operator();
    const path = site.path();
    const handle = await client.locks.mutex(path).acquire();
    const { timeoutMs, sessionId } = client.session;
    const node = await operator.onlyChild(path);
    const heard = statesOf(client);
    const stoodMs = standstill();
    const confirmedMs = performance.now();
    await handle.confirm();
    const cutAtMs = performance.now();
    await client.link.setMode("reset");
    await eventually(() => heard.some(({ state }) => state === "lost"), { what: "the loss", everyMs: 2 });
    // The client gives the session up before the server does. So the node is still there, unless the machine is too slow to ask.
    const there = await operator.exists(node);
    expect(there || performance.now() - confirmedMs >= timeoutMs).toBe(true);
    const [suspended, lost] = heard;
    expect(suspended).toMatchObject({ state: "suspended", timeoutMs });
    expect(lost).toMatchObject({ state: "lost" });
    const suspendedMs = (suspended?.at ?? Number.NaN) - cutAtMs;
    const lostMs = (lost?.at ?? Number.NaN) - cutAtMs;
    console.log(
      `negotiated ${timeoutMs} ms: suspended after ${suspendedMs.toFixed(0)} ms, lost after ${lostMs.toFixed(0)} ms`,
    );
    const lateMs = slackMs + stoodMs();
    expect(suspendedMs).toBeLessThan(lateMs);
    // The session was confirmed just before the cut, so the loss comes after the whole time-out less the margin.
    expect(lostMs).toBeGreaterThan(timeoutMs - 2 * 100 - lateMs);
    expect(lostMs).toBeLessThan(timeoutMs + lateMs);
    expect(handle.state).toBe("lost");
    expect(handle.lost.reason).toMatchObject({ reason: "lease-expired" });
    await client.link.setMode("ok");
    await client.locks.ready();
    expect(client.session.sessionId).not.toBe(sessionId);
    const states = heard.map(({ state }) => state);
    expect(states.slice(0, 2)).toEqual(["suspended", "lost"]);
    expect(states.at(-1)).toBe("connected");
    expect(states.filter((state) => state === "lost")).toHaveLength(1);
  });

  it("65: back in time it is the same session, nothing is lost, and the hold recovers", async () => {
    const client = await site.client({ sessionTimeoutMs: 4_000 });
    const handle = await client.locks.mutex(site.path()).acquire();
    const { sessionId } = client.session;
    const heard = statesOf(client);
    const told: string[] = [];
    for (const type of ["uncertain", "recovered", "lost"] as const) {
      client.locks.events.on(type, () => told.push(type));
    }
    await client.link.setMode("reset");
    await eventually(() => handle.state === "uncertain", { what: "the doubt" });
    await client.link.setMode("ok");
    await eventually(() => handle.state === "held", { what: "the hold to recover" });
    expect(heard.map(({ state }) => state)).toEqual(["suspended", "connected"]);
    expect(told).toEqual(["uncertain", "recovered"]);
    expect(client.session.sessionId).toBe(sessionId);
    expect(await handle.release()).toBe("released");
  });
}

/** 65: the states of a session when timers are late. */
export function lateRows(site: Site): void {
  it("65: an acquire in the very tick in which a blocked process finds its session over is served by the next one", async () => {
    const client = await site.client({ sessionTimeoutMs: 1_000 });
    const [path, other] = [site.path(), site.path()];
    const handle = await client.locks.mutex(path).acquire();
    const { sessionId } = client.session;
    const endMs = performance.now() + handle.remainingMs() + 20;
    while (performance.now() < endMs) {
      // Nothing else runs meanwhile: no timer, no keep-alive, no answer.
    }
    expect(() => handle.assertHeld()).toThrow();
    const [next, again] = await Promise.all(
      [other, path].map((name) => client.locks.mutex(name).acquire({ waitMs: 10_000 })),
    );
    expect(client.session.sessionId).not.toBe(sessionId);
    expect(again?.token).toBeGreaterThan(handle.token as bigint);
    // On a busy machine a session this short may have ended again, so the outcomes are not checked.
    await Promise.all([next?.release(), again?.release()]);
  });
}

/**
 * 66: the parents of the queue nodes. To a client a container looks like any other node: only the request that makes it
 * and its removal when it is empty show the difference.
 */
export function parentRows(site: Site): void {
  it.each([{}, { namespace: "team" }])(
    "66: makes missing parents as containers, which go when they are empty, with %j",
    async (options) => {
      const { locks, link } = await site.client(options);
      const operator = await site.operator();
      const path = site.path();
      const real = options.namespace === undefined ? path : `/team${path}`;
      const handle = await locks.mutex(path).acquire();
      const made = link.trace.filter(({ kind, op }) => kind === "request" && op.startsWith("create"));
      const levels = levelsOf(real);
      expect(made.map(({ op, path: of }) => (of?.startsWith(`${real}/`) ? op : `${op} ${of}`))).toEqual([
        "create2",
        ...levels.map((level) => `createContainer ${level}`),
        "create2",
      ]);
      for (const level of levels) expect(await operator.exists(level), level).toBe(true);
      await handle.release();
      // Other tests may have nodes below the namespace, so it may stay.
      const top = levels.at(-levelsOf(path).length);
      await eventually(async () => !(await operator.exists(top as string)), { what: `${top} to be removed` });
    },
  );

  it.each([{}, { namespace: "own" }])(
    "66: leaves parents that were there before as they are, and they stay, with %j",
    async (options) => {
      const { locks } = await site.client(options);
      const operator = await site.operator();
      const [path, witness] = [site.path(), site.path()];
      const real = options.namespace === undefined ? path : `/own${path}`;
      const made = levelsOf(real).slice(0, -1);
      for (const level of made) {
        if (!(await operator.exists(level))) await operator.create(level, { data: "somebody's" });
      }
      const handle = await locks.mutex(path).acquire();
      await handle.release();
      await eventually(async () => !(await operator.exists(real)), { what: `${real} to be removed` });
      // The server checks several times until all levels of another lock are gone. In that time it would have found ours.
      const other = await site.client();
      await (await other.locks.mutex(witness).acquire()).release();
      const top = levelsOf(witness)[0] as string;
      await eventually(async () => !(await operator.exists(top)), { what: `${top} to be removed` });
      for (const level of made) expect((await operator.read(level)).data, level).toBe("somebody's");
    },
  );
}
