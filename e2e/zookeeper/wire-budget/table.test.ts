import {
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, type JavaPeer, startJavaPeer } from "../../support/curator/java-peer.js";
import { exclusiveRows } from "./rows-exclusive.js";
import { meetingRows } from "./rows-meeting.js";
import { multiLockRows } from "./rows-multi-lock.js";
import { sharedRows } from "./rows-shared.js";
import { type Cost, type Row, Scene } from "./scene.js";

const rows: readonly Row[] = [...exclusiveRows, ...multiLockRows, ...sharedRows, ...meetingRows];
/** Longer than the tests take, so that no client sends a request only to keep its session. */
const sessionTimeoutMs = 30_000;

let server: ZooKeeperNode;
let java: JavaPeer;
let links: { readonly ours: ZooKeeperProxy; readonly curator: ZooKeeperProxy };
let ours: ZooKeeperLocks;
let rival: ZooKeeperLocks;
let curator: CuratorClient;
let paths = 0;

beforeAll(async () => {
  server = await startZooKeeper({ maxClientCnxns: 0 });
  java = await startJavaPeer({ curator: "5.4.0" });
  const link = () => startZooKeeperProxy({ target: server.connectString });
  links = { ours: await link(), curator: await link() };
  ours = zookeeperLocks({ connect: links.ours.connectString, sessionTimeoutMs });
  rival = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs });
  curator = await java.connect({ connect: links.curator.connectString, sessionTimeoutMs });
  await Promise.all([ours.ready(), rival.ready()]);
  // Makes the common parent. A container that has had a child stays for longer than the tests.
  await (await rival.mutex("/budget/first").acquire()).release();
}, 300_000);
afterAll(async () => {
  await ours?.close();
  await rival?.close();
  await java?.close();
  await links?.ours.close();
  await links?.curator.close();
  await server?.stop();
});

async function prepare({ there }: Row): Promise<string> {
  const path = `/budget/r${paths++}`;
  if (there === "lock") await (await rival.mutex(path).acquire()).release();
  if (there === "semaphore") await (await rival.semaphore(path, 1).acquire()).release();
  return path;
}

async function count<C>(client: C, link: ZooKeeperProxy, row: Row, side: Row["ours"] | Row["curator"]) {
  const scene = new Scene(client, rival, link, await prepare(row));
  link.reset();
  await (side.run as (scene: Scene<C>) => Promise<void>)(scene);
  link.clearRules();
  if (scene.counted === null) throw new Error(`${row.operation}: nothing was counted`);
  return { cost: scene.counted, sent: scene.sent };
}

const figures: string[] = [];
afterAll(() =>
  console.log(["requests and awaited round trips, ours | Curator 5.4.0", ...figures].join("\n")),
);

describe.each(rows)("$operation", (row) => {
  const show = ({ requests, awaited }: Cost) => `${requests} ${awaited}`;

  it(`takes ours ${row.ours.awaited} and Curator ${row.curator.awaited} round trips, one after the other`, async () => {
    const byUs = await count(ours, links.ours, row, row.ours);
    const byCurator = await count(curator, links.curator, row, row.curator);
    const found = { ours: byUs.cost, curator: byCurator.cost };
    figures.push(`${row.operation}: ${show(found.ours)} | ${show(found.curator)}`);
    const { run: _ours, ...oursShallBe } = row.ours;
    const { run: _curator, ...curatorShallBe } = row.curator;
    expect(found, `ours:\n${byUs.sent}\nCurator:\n${byCurator.sent}`).toEqual({
      ours: oursShallBe,
      curator: curatorShallBe,
    });
    const more = found.ours.awaited - found.curator.awaited;
    if (row.dearer !== undefined) expect(more, row.dearer).toBe(1);
    else expect(more).toBeLessThanOrEqual(row.fewer === true ? -1 : 0);
  });
});
