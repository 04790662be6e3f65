import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { CreateFlags } from "@holdfast/zk-protocol";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { share } from "../../../e2e/support/share.js";
import {
  eventually,
  expireSession,
  startEnsemble,
  type ZooKeeperEnsemble,
  ZooKeeperNode,
} from "../src/index.js";
import { WireClient } from "./support/wire-client.js";

const clients: WireClient[] = [];

async function connect(node: ZooKeeperNode, options = {}): Promise<WireClient> {
  const client = await WireClient.connect(node.connectString, { timeoutMs: 4_000, ...options });
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

async function oneOf(nodes: Promise<ZooKeeperNode[]>): Promise<ZooKeeperNode> {
  const [first] = await nodes;
  if (first === undefined) throw new Error("no such node");
  return first;
}

/** The inodes of the open sockets of a process. */
function socketsOf(pid: number): Set<string> {
  const inodes = new Set<string>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`))?.[1];
      if (inode !== undefined) inodes.add(inode);
    } catch (error) {
      // The socket was closed after the folder was read.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return inodes;
}

/** The dialling ends of all established connections on this machine to these ports. */
function establishedTo(ports: readonly number[]): { port: number; inode: string }[] {
  const established = "01";
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, "utf8").trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === established)
    .map((fields) => ({
      port: Number.parseInt(fields[2]?.split(":")[1] ?? "", 16),
      inode: fields[9] ?? "",
    }))
    .filter(({ port }) => ports.includes(port));
}

describe("an ensemble of three", () => {
  let ensemble: ZooKeeperEnsemble;

  beforeAll(async () => {
    ensemble = await startEnsemble({ sequences: { "/lock": 1_999_999_999 } });
  });

  beforeEach(() => ensemble.ready());

  afterAll(() => ensemble.stop());

  test("has one leader and two followers, each with its own address", async () => {
    const roles = async () => [...(await ensemble.roles()).values()].sort();
    await expect.poll(roles).toEqual(["follower", "follower", "leader"]);
    await expect.poll(() => ensemble.byRole("leader")).toEqual([await ensemble.leader()]);
    await expect.poll(() => ensemble.followers()).toHaveLength(2);
    expect(ensemble.connectString.split(",")).toEqual(ensemble.nodes.map((node) => node.connectString));
    expect(ensemble.nodes.map((node) => node.id)).toEqual([1, 2, 3]);
  });

  test("is ready only when all servers that run have a role at one look", async () => {
    const follower = await oneOf(ensemble.followers());
    let looks = 0;
    // Plays a follower that says it serves when it is asked, and then looks for a leader for a while, as after a cut.
    const mode = vi.spyOn(follower, "mode").mockImplementation(async () => {
      looks += 1;
      return looks < 5 ? undefined : ZooKeeperNode.prototype.mode.call(follower);
    });
    try {
      await ensemble.ready();
    } finally {
      mode.mockRestore();
    }
    expect(looks).toBeGreaterThanOrEqual(5);
  });

  test("serves the same tree on all servers, preset sequences included", async () => {
    const client = await connect(await ensemble.leader());
    expect(await client.create("/lock/x-", CreateFlags.ephemeralSequential)).toBe("/lock/x-1999999999");
    for (const node of ensemble.nodes) {
      const other = await connect(node);
      await other.send("sync", { path: "/lock" });
      expect(await other.exists("/lock/x-1999999999")).toBe(true);
    }
  });

  test("ends a session through another server than its owner's", async () => {
    const owner = await connect(await ensemble.leader());
    await owner.create("/elsewhere", CreateFlags.ephemeral);
    const { sessionId, password } = owner.session;
    const follower = await oneOf(ensemble.followers());
    await expireSession({ connectString: follower.connectString, sessionId, password });
    const watcher = await connect(await ensemble.leader());
    await watcher.send("sync", { path: "/" });
    expect(await watcher.exists("/elsewhere")).toBe(false);
  });

  test("elects another leader when the leader is killed, and takes the old one back as a follower", async () => {
    const old = await ensemble.leader();
    await old.kill();
    const next = await ensemble.leader();
    expect(next).not.toBe(old);
    await old.restart();
    await ensemble.ready();
    await expect.poll(() => old.mode()).toBe("follower");
  });

  test("elects another leader when the leader is paused", async () => {
    const old = await ensemble.leader();
    await old.pause();
    const startMs = performance.now();
    const next = await ensemble.leader();
    expect(next).not.toBe(old);
    // The followers notice a paused leader only by its silence. That takes syncLimit x tick, 2.5 s here.
    expect(performance.now() - startMs).toBeGreaterThan(1_500);
    old.resume();
    await eventually(async () => (await old.mode()) === "follower", { what: "the old leader to follow" });
  });

  test("cannot be cut without proxies", async () => {
    await expect(ensemble.cutNode(await ensemble.leader())).rejects.toThrow("quorumProxies: true");
  });
});

describe("an ensemble whose servers can be cut from each other", () => {
  let ensemble: ZooKeeperEnsemble;
  // A follower may have heard nothing from a busy leader for half a second before the cut, and it waits from that moment on. The
  // leader ends a session of 1.5 s within 2 s.
  const syncLimit = 8;
  const patienceMs = syncLimit * 500;

  beforeAll(async () => {
    ensemble = await startEnsemble({ quorumProxies: true, initLimit: 120, syncLimit });
  });

  beforeEach(() => ensemble.ready());

  afterAll(() => ensemble.stop());

  test("a cut follower shows a client its node for up to syncLimit x tick, while the leader has deleted it", async () => {
    const follower = await oneOf(ensemble.followers());
    const client = await connect(follower, { timeoutMs: 1_500 });
    const syncing = await connect(follower, { timeoutMs: 1_500 });
    const watcher = await connect(await ensemble.leader(), { timeoutMs: 10_000 });
    await client.create("/own", CreateFlags.ephemeral);
    await watcher.send("sync", { path: "/" });
    await watcher.send("exists", { path: "/own", watch: true });

    await ensemble.cutNode(follower);
    // If this test fails, the other tests still get a whole ensemble.
    onTestFinished(() => ensemble.healNode(follower));
    const cutMs = performance.now();
    let synced = false;
    syncing.send("sync", { path: "/" }).then(
      () => {
        synced = true;
      },
      () => {}, // the follower closes the connection when it gives up
    );
    let deletedMs = 0;
    const deleted = eventually(() => watcher.events.length > 0, {
      what: "the leader to delete the node",
      everyMs: 5,
    });
    deleted.then(() => {
      deletedMs = performance.now() - cutMs;
    });
    let shownMs = 0;
    while (!client.ended) {
      try {
        await client.send("ping", undefined);
        if (!(await client.exists("/own"))) break;
      } catch (error) {
        expect(String(error)).toContain("connection lost");
        break;
      }
      shownMs = performance.now() - cutMs;
      expect(shownMs).toBeLessThan(3 * patienceMs);
    }
    await deleted;
    // At the leader the session ended after its 1.5 s. The follower still showed the node after that.
    expect(deletedMs).toBeGreaterThan(1_000);
    expect(shownMs).toBeGreaterThan(deletedMs);
    expect(synced).toBe(false);

    await ensemble.healNode(follower);
    await ensemble.ready();
    await expect.poll(() => follower.mode()).toBe("follower");
  });

  test("a cut shorter than the servers' patience delays a sync and nothing else", async () => {
    const follower = await oneOf(ensemble.followers());
    const client = await connect(follower);
    await ensemble.cutNode(follower);
    const startMs = performance.now();
    const sync = client.send("sync", { path: "/" });
    await eventually(() => performance.now() - startMs > 600, { what: "600 ms to pass" });
    await ensemble.healNode(follower);
    expect((await sync).err).toBe(0);
    expect(performance.now() - startMs).toBeGreaterThan(600);
    expect(client.ended).toBe(false);
    await expect.poll(() => follower.mode()).toBe("follower");
  });

  test("a cut leader is replaced and steps down, and follows when it is healed", async () => {
    const old = await ensemble.leader();
    await ensemble.cutNode(old);
    const next = await eventually(
      async () => (await ensemble.byRole("leader")).find((node) => node !== old),
      { what: "another leader", withinMs: 20_000 },
    );
    await eventually(async () => (await old.mode()) === undefined, { what: "the old leader to step down" });
    const client = await connect(next);
    await client.create(`/after-${performance.now()}`);
    await ensemble.healNode(old);
    await eventually(async () => (await old.mode()) === "follower", {
      what: "the old leader to follow",
      withinMs: 20_000,
    });
    expect(await ensemble.leader()).toBe(next);
  });

  test("a one-way cut from the leader makes a follower leave", async () => {
    const leader = await ensemble.leader();
    const follower = await oneOf(ensemble.followers());
    await ensemble.cut(leader, follower);
    await eventually(async () => (await follower.mode()) === undefined, { what: "the follower to leave" });
    await expect.poll(() => leader.mode()).toBe("leader");
    await ensemble.heal(leader, follower);
    await eventually(async () => (await follower.mode()) === "follower", {
      what: "it to come back",
      withinMs: 20_000,
    });
  });

  test("leaders come and go behind the proxies as without them", async () => {
    const rounds = share("leaders killed behind the proxies of an ensemble", 1, 3);
    for (let round = 0; round < rounds; round++) {
      const old = await ensemble.leader();
      await old.kill();
      // If a follower were sent away too early, the leader would wait initLimit x tick for it, longer than `leader()` waits.
      expect(await ensemble.leader()).not.toBe(old);
      await old.restart();
      await ensemble.ready();
    }
  });

  test("no server reaches another past the proxies", async () => {
    const peers = ensemble.nodes.map((node) => {
      const config = readFileSync(join(node.dataDir, "../zoo.cfg"), "utf8");
      return new RegExp(`^server\\.${node.id}=127\\.0\\.0\\.1:(\\d+):(\\d+)$`, "m").exec(config) ?? [];
    });
    const quorumPorts = peers.map(([, port]) => Number(port));
    const electionPorts = peers.map(([, , port]) => Number(port));
    // There are two followers at one leader, and one election connection for each pair of servers.
    await expect.poll(() => establishedTo(quorumPorts)).toHaveLength(2);
    await expect.poll(() => establishedTo(electionPorts)).toHaveLength(3);
    const dialled = establishedTo([...quorumPorts, ...electionPorts]);
    const ours = socketsOf(process.pid);
    expect(dialled.filter(({ inode }) => !ours.has(inode))).toEqual([]);
  });
});
