import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type RunOutcome, readHistory } from "@holdfast/chaos";
import { systemRuntime } from "@holdfast/core";
import { eventually, startRedis, startZooKeeper } from "@holdfast/test-servers";
import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { expect, it, onTestFinished } from "vitest";
import { share } from "../support/share.js";
import { ChaosRun } from "./run-cli.js";

/** An attack takes seconds; a machine under load gets ten times as much. */
const timeout = 300_000;

interface Attacked {
  readonly code: number | null;
  readonly output: string;
  /** Faults that are shown in the history to have happened, and that hit what they were meant for. */
  readonly hits: readonly string[];
}

async function attack(...args: string[]): Promise<Attacked> {
  await using run = new ChaosRun((out) => ["attack", ...args, "--i-own-this", "--out", out]);
  const { code } = await run.exited;
  console.log(run.output);
  const { outcomes } = JSON.parse(readFileSync(join(run.out, "results.json"), "utf8")) as RunOutcome;
  const id = outcomes[0]?.scenario.id ?? "";
  const history = await readHistory(join(run.out, id, "history.jsonl"));
  return {
    code,
    output: run.output,
    hits: history.faults
      .filter(({ evident, end }) => evident && !Object.hasOwn(end?.evidence ?? {}, "missed"))
      .map(({ name }) => name),
  };
}

/** Another client of the cluster, which nothing may happen to. */
async function bystanderAt(connectString: string): Promise<ZooKeeperSession> {
  const { servers } = parseConnectString(connectString);
  const session = openSession({ servers, sessionTimeoutMs: 20_000, runtime: systemRuntime });
  onTestFinished(() => session.close());
  await session.whenConnected({ waitMs: 30_000 });
  return session;
}

it("at a ZooKeeper ends sessions of its own workers, and leaves the node of another client and nothing else", {
  timeout,
}, async () => {
  const server = await startZooKeeper({});
  onTestFinished(() => server.stop());
  const bystander = await bystanderAt(server.connectString);
  const node = { data: null, acl: openAcl };
  await bystander.request("create", { path: "/mine", ...node, flags: CreateFlags.persistent });
  await bystander.request("create", { path: "/mine/node", ...node, flags: CreateFlags.ephemeral });
  const target = `zk://${server.connectString}/mine`;

  const { code, output, hits } = await attack("--target", target, "--fault", "session-kill", "--times", "2");

  expect({ code, output }).toMatchObject({ code: 0 });
  expect(hits).toEqual(["zk.session-kill", "zk.session-kill"]);
  const { children } = await bystander.request("getChildren2", { path: "/mine", watch: false });
  expect(children).toEqual(["node"]);
  const { children: top } = await bystander.request("getChildren2", { path: "/", watch: false });
  expect(top.toSorted()).toEqual(["mine", "zookeeper"]);
});

const ofRedis = ["reset", "worker-kill", "worker-pause", "cut"];
const some = ofRedis.slice(0, share(`attacks at a Redis: ${ofRedis.join(" ")}`, 1, ofRedis.length));

it.each(some)(
  "at a Redis does %s, and leaves the keys of others and nothing else",
  { timeout },
  async (fault) => {
    const server = await startRedis({});
    onTestFinished(() => server.stop());
    await server.command("SET", "somebody's", "1");
    const target = `redis://${server.host}:${server.port}`;

    const { code, output, hits } = await attack("--target", target, "--fault", fault, "--times", "2");

    expect({ code, output }).toMatchObject({ code: 0 });
    expect(hits).toHaveLength(2);
    expect(await server.command("KEYS", "*")).toEqual(["somebody's"]);
  },
);

it("at a path that is not there ends with what is wrong, and makes nothing", { timeout }, async () => {
  const server = await startZooKeeper({});
  onTestFinished(() => server.stop());
  await using run = new ChaosRun((out) => [
    "attack",
    "--target",
    `zk://${server.connectString}/nowhere`,
    "--fault",
    "reset",
    "--i-own-this",
    "--out",
    out,
  ]);
  const { code } = await run.exited;
  expect({ code, output: run.output }).toEqual({
    code: 254,
    output: expect.stringContaining("there is no node /nowhere"),
  });
});

it("interrupted takes its node away all the same", { timeout }, async () => {
  const server = await startZooKeeper({});
  onTestFinished(() => server.stop());
  const bystander = await bystanderAt(server.connectString);
  const nodes = async (): Promise<readonly string[]> =>
    (await bystander.request("getChildren2", { path: "/", watch: false })).children;
  await using run = new ChaosRun((out) => [
    "attack",
    "--target",
    `zk://${server.connectString}`,
    "--fault",
    "reset",
    "--times",
    "100",
    "--i-own-this",
    "--out",
    out,
  ]);
  const [own = ""] = await eventually(
    async () => {
      const found = (await nodes()).filter((name) => name.startsWith("holdfast-chaos-attack-"));
      return found.length > 0 && found;
    },
    { what: "a node of the attack" },
  );
  const below = async (): Promise<number> =>
    (await bystander.request("getChildren2", { path: `/${own}`, watch: false })).children.length;
  await eventually(async () => (await below()) > 0, { what: "locks below it" });
  run.child.kill("SIGINT");
  const { code } = await run.exited;
  expect({ code, output: run.output }).toMatchObject({ code: 130 });
  expect(await nodes()).toEqual(["zookeeper"]);
});
