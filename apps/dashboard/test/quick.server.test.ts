import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { LockProvider } from "@holdfast/core";
import { redisLocks } from "@holdfast/redis-recipes";
import { runDue } from "@holdfast/schedules";
import {
  type EmbeddedZooKeeper,
  eventually,
  makeRedisCertificate,
  type RedisNode,
  startEmbeddedZooKeeper,
  startRedis,
} from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parseCommand } from "../src/cli/arguments.js";
import type { LockRow, Schedules } from "../src/contract/api.js";
import { type DashboardConfig, hashPassword, startDashboard } from "../src/index.js";
import { checkDashboard } from "../src/start.js";

const { certificate, key } = makeRedisCertificate();
let directory: string;
let zookeeper: EmbeddedZooKeeper;
let redis: RedisNode;
let secure: RedisNode;
/** A TLS server in front of ZooKeeper, for clients with the certificate. */
let terminator: Server;
const links = new Set<{ destroy(): void }>();

/** The rights that the README names for looking, and no more. */
const reading = [
  ...["+@read", "+@connection", "+scan", "+info", "+time", "+dbsize", "+multi", "+exec", "+eval_ro"],
  ...["+pubsub|channels", "+pubsub|numsub", "+pubsub|shardchannels", "+pubsub|shardnumsub"],
];

beforeAll(async () => {
  [zookeeper, redis, secure] = await Promise.all([
    startEmbeddedZooKeeper(),
    startRedis({ password: "secret" }),
    startRedis({ tls: { certificate, key } }),
  ]);
  directory = await mkdtemp(join(tmpdir(), "holdfast-tls-"));
  await writeFile(join(directory, "cert.pem"), certificate);
  await writeFile(join(directory, "key.pem"), key);
  const [host = "", port = ""] = zookeeper.connectString.split(":");
  terminator = createServer(
    { cert: certificate, key, ca: certificate, requestCert: true, rejectUnauthorized: true },
    (client: TLSSocket) => {
      const backend = connectTcp({ host, port: Number(port) });
      links.add(client).add(backend);
      client.on("error", () => backend.destroy()).on("close", () => backend.destroy());
      backend.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(backend).pipe(client);
    },
  );
  await new Promise<void>((resolve) => terminator.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  for (const link of links) link.destroy();
  terminator?.close();
  await Promise.all([zookeeper, redis, secure].map((server) => server?.stop()));
  await rm(directory, { recursive: true });
});

async function shown(config: DashboardConfig, env: Record<string, string> = {}) {
  await checkDashboard(config, { directory, env });
  const dashboard = await startDashboard(config, { directory, env });
  onTestFinished(() => dashboard.close());
  const rows = async (): Promise<readonly LockRow[]> =>
    ((await (await fetch(`${dashboard.url}api/v1/locks`)).json()) as { rows: LockRow[] }).rows;
  return { url: dashboard.url, rows };
}

test("without a configuration it shows what is on a ZooKeeper and a Redis, on loopback, and changes nothing", async () => {
  const zoo = zookeeperLocks({ connect: zookeeper.connectString });
  const red = redisLocks({ url: redis.url, password: "secret" });
  onTestFinished(async () => void (await Promise.all([zoo.close(), red.close()])));
  await zoo.mutex("/shop/orders").acquire();
  await red.mutex("order:1").acquire();
  const command = parseCommand([
    ...["--zookeeper", zookeeper.connectString, "--redis", redis.url, "--redis-password-env", "P"],
    ...["--port", "0"],
  ]);
  if (!("quick" in command)) throw new Error("a configuration was asked for");
  const { url, rows } = await shown(command.quick, { P: "secret" });
  await eventually(async () => (await rows()).length === 2, { what: "both locks" });
  const found = (await rows()).map(({ cluster, key: name, state }) => `${cluster} ${name} ${state}`);
  expect(found.sort()).toEqual(["redis order:1 held", "zookeeper /shop/orders held"]);
  expect(new URL(url).hostname).toBe("127.0.0.1");
  expect(await (await fetch(`${url}api/v1/me`)).json()).toMatchObject({ actions: false });
});

test("the last runs of schedules are shown where a cluster has the key, with no more rights at Redis than reading", async () => {
  const zoo = zookeeperLocks({ connect: zookeeper.connectString, root: "/jobs" });
  const red = redisLocks({ url: redis.url, password: "secret", keyPrefix: "jobs:" });
  onTestFinished(async () => void (await Promise.all([zoo.close(), red.close()])));
  await redis.command(
    "ACL",
    "SETUSER",
    "reader",
    "on",
    ">look",
    "resetkeys",
    "~*",
    "resetchannels",
    ...reading,
  );
  // The first call for a schedule only starts its time. Its first run is due a moment later.
  const run = (locks: LockProvider, name: string, job: () => Promise<void>) =>
    eventually(() => runDue(locks, name, { every: 50, by: "replica-1" }, job), { what: `a run of ${name}` });
  await run(zoo, "report", async () => {});
  await run(red, "invoices", () => Promise.reject(new Error("no paper")));
  const { url } = await shown(
    {
      listen: { port: 0 },
      clusters: [
        {
          name: "zoo",
          zookeeper: {
            connect: zookeeper.connectString,
            roots: ["/jobs"],
            adminPort: 0,
            schedules: { root: "/jobs" },
          },
        },
        {
          name: "red",
          redis: {
            url: redis.url,
            username: "reader",
            password: { env: "P" },
            patterns: ["*"],
            schedules: { keyPrefix: "jobs:" },
          },
        },
        { name: "without", redis: { url: redis.url, password: { env: "Q" }, patterns: ["*"] } },
      ],
    },
    { P: "look", Q: "secret" },
  );
  const schedules = async (query = ""): Promise<Schedules> =>
    (await (await fetch(`${url}api/v1/schedules${query}`)).json()) as Schedules;
  // Until the dashboard has a connection, the answer has a message that says so.
  await expect.poll(async () => (await schedules()).messages, { timeout: 30_000 }).toEqual([]);
  expect((await schedules()).rows).toMatchObject([
    { cluster: "zoo", name: "report", last: { state: "done", by: "replica-1", attempt: 1, error: null } },
    { cluster: "red", name: "invoices", last: { state: "failed", error: "no paper" } },
  ]);
  expect((await schedules("?cluster=without")).rows).toEqual([]);
});

test("TLS with files of the configuration: authorities for Redis, and a certificate of our own for ZooKeeper", async () => {
  const zoo = zookeeperLocks({ connect: zookeeper.connectString });
  const red = redisLocks({ url: secure.url, tls: { ca: certificate } });
  onTestFinished(async () => void (await Promise.all([zoo.close(), red.close()])));
  await zoo.mutex("/tls/orders").acquire();
  await red.mutex("tls:1").acquire();
  const { port } = terminator.address() as { port: number };
  const connect = `127.0.0.1:${port}`;
  const pair = { cert: "cert.pem", key: "key.pem" };
  const { rows, url } = await shown({
    listen: { port: 0 },
    clusters: [
      {
        name: "zoo",
        zookeeper: { connect, roots: ["/tls"], adminPort: 0, tls: { ca: "cert.pem", ...pair } },
      },
      { name: "red", redis: { url: secure.url, patterns: ["*"], tls: { ca: "cert.pem" } } },
      // A dashboard without the authority, or one that presents no certificate, cannot connect.
      { name: "distrust", redis: { url: secure.url, patterns: ["*"], tls: {} } },
      {
        name: "nobody",
        zookeeper: { connect, roots: ["/tls"], adminPort: 0, tls: { ca: "cert.pem" } },
      },
    ],
  });
  await eventually(async () => (await rows()).length === 2, { what: "both locks" });
  expect((await rows()).map(({ cluster }) => cluster).sort()).toEqual(["red", "zoo"]);
  const states = async (): Promise<ReadonlyMap<string, string>> => {
    const answer = await fetch(`${url}api/v1/clusters`);
    const { clusters } = (await answer.json()) as { clusters: { name: string; state: string }[] };
    return new Map(clusters.map(({ name, state }) => [name, state]));
  };
  const expected = { zoo: "ok", red: "ok", distrust: "down", nobody: "down" };
  await eventually(
    async () => JSON.stringify(Object.fromEntries(await states())) === JSON.stringify(expected),
    { withinMs: 30_000, what: "the two to be seen, and the two to be refused" },
  );
});

test("the command reads users again on SIGHUP, and ends with 0 on SIGTERM", async () => {
  const passwordHash = await hashPassword("correct horse");
  const users = join(directory, "users");
  const lineOf = (role: string): string => `ada:${role}:${passwordHash}\n`;
  await writeFile(users, lineOf("admin"), { mode: 0o600 });
  const file = join(directory, "hangup.yaml");
  const clusters = [{ name: "red", redis: { url: redis.url, patterns: ["*"] } }];
  await writeFile(file, JSON.stringify({ listen: { port: 0 }, auth: { basic: { file: users } }, clusters }));
  const cli = new URL("../dist/cli.js", import.meta.url).pathname;
  const child = spawn(process.execPath, [cli, "--config", file], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let told = "";
  child.stdout.on("data", (text) => {
    told += text;
  });
  child.stderr.on("data", (text) => {
    told += text;
  });
  const url = (): string | undefined => /^holdfast-dashboard: (http.*)$/m.exec(told)?.[1];
  await eventually(() => url() !== undefined, { what: "the server to listen" });
  const authorization = `Basic ${Buffer.from("ada:correct horse").toString("base64")}`;
  const role = async (): Promise<string> =>
    ((await (await fetch(`${url()}api/v1/me`, { headers: { authorization } })).json()) as { role: string })
      .role;
  expect(await role()).toBe("admin");
  await writeFile(users, lineOf("viewer"));
  child.kill("SIGHUP");
  await eventually(async () => (await role()) === "viewer", { what: "the new role" });
  await writeFile(users, "ada:viewer:nonsense\n");
  child.kill("SIGHUP");
  await eventually(() => told.includes("what was read before stays in force"), { what: "a line in the log" });
  expect(await role()).toBe("viewer");
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});
