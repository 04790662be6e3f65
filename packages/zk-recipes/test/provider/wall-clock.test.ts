import { type Runtime, systemRuntime } from "@holdfast/core";
import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let stepMs: number;
const runtime: Runtime = { ...systemRuntime, wallMs: () => Date.now() + stepMs };

beforeEach(() => {
  stepMs = 0;
});

let server: EmbeddedZooKeeper;

async function start(connectionPolicy: "session" | "standard"): Promise<ZooKeeperLocks> {
  server = await startEmbeddedZooKeeper({ tickTimeMs: 500 });
  onTestFinished(() => server.stop());
  const locks = zookeeperLocks({
    connect: server.connectString,
    // A pause of this process that is shorter than a sixth of this puts no hold in doubt by itself.
    sessionTimeoutMs: 6_000,
    runtime,
    connectionPolicy,
  });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
  return locks;
}

describe("a wall clock that is set an hour forward", () => {
  test("puts a hold in doubt at once, ends nothing, and is forgotten once the server has answered", async () => {
    const locks = await start("session");
    const handle = await locks.mutex("m").acquire();
    const heard: string[] = [];
    locks.events.on("uncertain", ({ remainingMs }) => heard.push(`uncertain, ${remainingMs} ms left`));
    locks.events.on("recovered", () => heard.push("recovered"));
    stepMs = 3_600_000;
    expect(handle.state).toBe("uncertain");
    expect(handle.remainingMs()).toBe(0);
    expect(() => handle.assertHeld()).toThrow();
    expect(handle.lost.aborted).toBe(false);
    await eventually(() => handle.state === "held", { what: "the hold to be held again" });
    await eventually(() => handle.remainingMs() > 0, { what: "time to be promised again" });
    expect(heard).toEqual(["uncertain, 0 ms left", "recovered"]);
    expect(await handle.release()).toBe("released");
  });

  test("grants nothing before the server has answered, and then does", async () => {
    const locks = await start("session");
    const other = await locks.mutex("first").acquire();
    stepMs = 3_600_000;
    const handle = await locks.mutex("second").acquire();
    expect(handle.remainingMs()).toBeGreaterThan(0);
    expect(other.state).toBe("held");
  });
});

describe("a wall clock that is set 150 ms forward", () => {
  test("deposes no leader whose policy ends a term with the contact", async () => {
    const locks = await start("standard");
    const leadership = await locks.leaderElection("e").campaign();
    const heard: string[] = [];
    for (const type of ["uncertain", "recovered", "lost"] as const) {
      locks.events.on(type, () => heard.push(type));
    }
    stepMs = 150;
    await eventually(() => heard.includes("recovered") || heard.includes("lost"), {
      what: "news of the term",
    });
    expect(heard).toEqual(["uncertain", "recovered"]);
    expect(leadership.state).toBe("held");
  });

  test("deposes such a leader at once when the contact breaks before the server has answered", async () => {
    const locks = await start("standard");
    const leadership = await locks.leaderElection("e").campaign();
    const [session] = server.sessions();
    const held = server.faults.on({ op: ["sync", "multi"] }, { do: "no-reply" });
    stepMs = 150;
    await eventually(() => leadership.state === "uncertain", { what: "the doubt" });
    await held.reached();
    server.faults.refuseConnections();
    server.dropConnection(session?.id ?? 0n);
    await eventually(() => leadership.lost.aborted, { what: "the end of the term" });
    // A term that had ended only with its session would have another reason.
    expect(leadership.lost.reason).toMatchObject({ reason: "suspended" });
  });
});
