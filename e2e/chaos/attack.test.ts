import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { systemRuntime } from "@holdfast/core";
import {
  eventually,
  makeRedisCertificate,
  type RedisCluster,
  type RedisNode,
  type RedisReplicaSet,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { CreateFlags, openAcl, Perms } from "@holdfast/zk-protocol";
import { openSession, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { HistoryRecord } from "../../apps/chaos/src/history/record.js";
import { share } from "../support/share.js";
import { commandLines, type Ran } from "./command-lines.js";
import { ChaosRun } from "./run-cli.js";

/** The certificate of the ensemble's TLS front, of clients, and of all Redis servers. */
const tls = makeRedisCertificate();
const password = "s:cret@home";
const inUrl = encodeURIComponent(password);

const ran = commandLines();

let folder: string;
let pem: string[];
let zooKeeper: ZooKeeperNode;
/** Another client of the ensemble, which has the right to read everything. */
let bystander: ZooKeeperSession;
let front: { readonly port: number; readonly end: () => void };
let single: RedisNode;
let replicated: RedisReplicaSet;
let cluster: RedisCluster;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "attack-"));
  const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
  writeFileSync(certificate, tls.certificate);
  writeFileSync(key, tls.key);
  pem = ["--ca", certificate, "--cert", certificate, "--key", key];
  const users = [`app on >${password} ~* &* +@all`, "default off"];
  [zooKeeper, single, replicated, cluster] = await Promise.all([
    startZooKeeper(),
    startRedis({ users, tls }),
    startRedisReplicaSet({ replicas: 1, sentinels: 1, password, tls }),
    startRedisCluster({ replicas: 0, password, tls }),
  ]);
  const [sentinel] = replicated.sentinels;
  await sentinel?.command("ACL", "SETUSER", "default", "resetpass", ">watch");
  front = await terminator(zooKeeper);
  const auth = [{ scheme: "digest", auth: `me:${password}` }];
  bystander = openSession({ servers: [zooKeeper], sessionTimeoutMs: 20_000, runtime: systemRuntime, auth });
  await bystander.whenConnected({ waitMs: 30_000 });
  const id = `me:${createHash("sha1").update(`me:${password}`).digest("base64")}`;
  const acl = [{ perms: Perms.ALL, scheme: "digest", id }];
  for (const path of ["/mine", "/secured"])
    await bystander.request("create", { path, data: null, acl, flags: CreateFlags.persistent });
  const path = "/mine/node";
  await bystander.request("create", { path, data: null, acl: openAcl, flags: CreateFlags.ephemeral });
  for (const node of [single, replicated.nodes[0], ...cluster.nodes]) await keep(node as RedisNode);
});
afterAll(async () => {
  await bystander?.close();
  front?.end();
  await Promise.all([zooKeeper, single, replicated, cluster].map((each) => each?.stop()));
  rmSync(folder, { recursive: true });
});

/** A TLS server in front of the ensemble, like stunnel. It accepts only clients with the certificate. */
async function terminator({ host, port }: ZooKeeperNode): Promise<typeof front> {
  const { certificate, key } = tls;
  const listener = createServer({ cert: certificate, key, ca: certificate, requestCert: true }, (near) => {
    const far = connect({ host, port });
    near.on("error", () => far.destroy()).on("close", () => far.destroy());
    far.on("error", () => near.destroy()).on("close", () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return { port: (listener.address() as AddressInfo).port, end: () => listener.close() };
}

/** Writes a key of another application, in a slot that this server has. */
async function keep(node: RedisNode): Promise<void> {
  for (let at = 0; ; at++) {
    const key = `somebody's ${at}`;
    if (node === (cluster.nodes.includes(node) ? await cluster.nodeOfKey(key) : node)) {
      await node.command("SET", key, "1");
      return;
    }
  }
}

interface Attacked extends Ran {
  /** The faults that hit their target, each with the number of connections of each proxy of the worker. */
  readonly hits: readonly { readonly name: string; readonly connections: readonly number[] }[];
}

async function attack(target: string, ...args: string[]): Promise<Attacked> {
  const about = ["attack", "--target", target, "--workers", "2", "--i-own-this", ...args];
  const end = await ran((out) => [...about, "--out", out]);
  const [outcome] = end.outcomes;
  if (outcome === undefined) return { ...end, hits: [] };
  const history = readFileSync(join(end.out, outcome.scenario.id, "history.jsonl"), "utf8");
  const records = history
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as HistoryRecord);
  return {
    ...end,
    hits: records.flatMap((record) => {
      if (record.type !== "fault" || record.phase !== "end") return [];
      const { missed, connections = [] } = (record.evidence ?? {}) as Evidence;
      return missed === undefined ? [{ name: record.f, connections }] : [];
    }),
  };
}

interface Evidence {
  /** The hold that the fault was meant for, if its holder had just released it. */
  readonly missed?: string;
  readonly connections?: readonly number[];
}

/** The text that a failed expectation shows. */
const said = ({ output, outcomes }: Ran): string => [output, ...outcomes.map(({ why }) => why)].join("\n");

/** Names the reports that contain the password, and `output` if the output does. There must be none. */
function secretIn({ output, out }: Ran): string[] {
  const texts = readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => ({ name, text: readFileSync(join(parentPath, name), "utf8") }));
  return [{ name: "output", text: output }, ...texts]
    .filter(({ text }) => text.includes(password) || text.includes(inUrl))
    .map(({ name }) => name);
}

const below = async (path: string): Promise<readonly string[]> =>
  (await bystander.request("getChildren2", { path, watch: false })).children.toSorted();

describe.concurrent("an attack", () => {
  it("at a ZooKeeper ends sessions of its own workers, by the rights of its user, and leaves the node of another client and nothing else", async ({
    expect,
  }) => {
    const target = `zk://me:${inUrl}@${zooKeeper.connectString}/mine`;
    using end = await attack(target, "--fault", "session-kill", "--times", "2");
    expect(end.code, said(end)).toBe(0);
    expect(end.hits).toMatchObject([{ name: "zk.session-kill" }, { name: "zk.session-kill" }]);
    expect(secretIn(end)).toEqual([]);
    expect(await below("/mine")).toEqual(["node"]);
  });

  it("at a ZooKeeper goes by TLS, with a certificate of its own, and leaves nothing", async ({ expect }) => {
    const target = `zks://me:${inUrl}@127.0.0.1:${front.port}/secured`;
    using end = await attack(target, "--fault", "reset", "--times", "1", ...pem);
    expect(end.code, said(end)).toBe(0);
    expect(end.hits).toEqual([{ name: "link.reset", connections: [1] }]);
    expect(await below("/secured")).toEqual([]);
  });

  const faults = ["reset", "worker-kill", "worker-pause", "cut"];
  const some = faults.slice(0, share(`attacks at a Redis: ${faults.join(" ")}`, 1, faults.length));
  // One after the other, because each test checks all keys of the server.
  it.sequential.for(some)(
    "at a Redis with TLS and a user does %s, and leaves the keys of others and nothing else",
    async (fault, { expect }) => {
      const target = `rediss://app:${inUrl}@127.0.0.1:${single.port}/0`;
      using end = await attack(target, "--fault", fault, "--times", "1", ...pem);
      expect(end.code, said(end)).toBe(0);
      expect(end.hits).toHaveLength(1);
      expect(secretIn(end)).toEqual([]);
      expect(await single.command("KEYS", "*")).toEqual(["somebody's 0"]);
    },
  );

  it("at sentinels hits the way to their master, and leaves nothing", async ({ expect }) => {
    const [sentinel] = replicated.sentinels;
    const [master] = replicated.nodes;
    const target = `rediss+sentinel://:${inUrl}@127.0.0.1:${sentinel?.port}/${replicated.name}`;
    const access = ["--sentinel-access", ":watch", ...pem];
    using end = await attack(target, "--fault", "reset", "--times", "1", ...access);
    expect(end.code, said(end)).toBe(0);
    // The connections to the sentinel, to the master and to the replica.
    expect(end.hits).toMatchObject([
      { connections: [expect.any(Number), expect.toSatisfy((open) => open > 0), 0] },
    ]);
    expect(await master?.command("KEYS", "*")).toEqual(["somebody's 0"]);
  });

  it("at a cluster hits the way to its nodes, and leaves nothing", async ({ expect }) => {
    const hosts = cluster.addresses.slice(1).map(({ host, port }) => `${host}:${port}`);
    const target = `rediss+cluster://:${inUrl}@${hosts.join(",")}`;
    using end = await attack(target, "--fault", "reset", "--times", "1", ...pem);
    expect(end.code, said(end)).toBe(0);
    // There are connections to every node, whichever nodes the target names.
    expect(end.hits[0]?.connections.filter((open) => open > 0)).toHaveLength(cluster.nodes.length);
    const keys = await Promise.all(cluster.nodes.map((node) => node.command("KEYS", "*")));
    expect(keys.flat()).toHaveLength(cluster.nodes.length);
    expect(keys.flat().filter((key) => !String(key).startsWith("somebody's"))).toEqual([]);
  });

  it.for([
    [
      "no such path",
      () => `zk://me:${inUrl}@${zooKeeper.connectString}/nowhere`,
      "there is no node /nowhere",
    ],
    ["no right at the path", () => `zk://${zooKeeper.connectString}/mine`, "may make no node below /mine"],
    ["a wrong password", () => `rediss://app:wrong@127.0.0.1:${single.port}`, "WRONGPASS"],
  ] as const)("with %s ends with what is wrong, and makes nothing", async ([_, target, why], { expect }) => {
    const secure = target().startsWith("rediss") ? pem : [];
    using end = await attack(target(), "--fault", "reset", ...secure);
    expect(end).toMatchObject({ code: 254, output: expect.stringContaining(why) });
    expect(end.output).not.toMatch(/\n +at /);
  });

  it("that is interrupted takes its node away all the same", async ({ expect }) => {
    const path = `/interrupted`;
    await bystander.request("create", { path, data: null, acl: openAcl, flags: CreateFlags.persistent });
    const target = `zk://${zooKeeper.connectString}${path}`;
    await using run = new ChaosRun((out) =>
      ["attack", "--target", target, "--fault", "reset", "--times", "100", "--workers", "2"].concat(
        "--i-own-this",
        "--out",
        out,
      ),
    );
    const [own] = await eventually(
      async () => {
        const found = await below(path);
        return found.length > 0 && found;
      },
      { what: "a node of the attack" },
    );
    await eventually(async () => (await below(`${path}/${own}`)).length > 0, { what: "locks below it" });
    run.child.kill("SIGINT");
    const { code } = await run.exited;
    expect({ code, output: run.output }).toMatchObject({ code: 130 });
    expect(await below(path)).toEqual([]);
  });
});
