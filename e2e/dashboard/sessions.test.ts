import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Tab } from "./support/browser.js";
import { SessionsView } from "./support/sessions-view.js";
import { type SessionsWorld, startSessionsWorld } from "./support/sessions-world.js";
import { type ToldSession, type ToldSessions, toldByAdmin, toldByWords } from "./support/told-sessions.js";

let world: SessionsWorld;
let tab: Tab;
let view: SessionsView;

beforeAll(async () => {
  world = await startSessionsWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  tab = await world.browser.tab();
  view = new SessionsView(tab.page);
});
afterEach(() => tab?.[Symbol.asyncDispose]());

const ways: readonly [string, string, () => Promise<ToldSessions>][] = [
  ["an AdminServer alone", "admin", () => toldByAdmin(world.admin)],
  ["four-letter words alone", "words", () => toldByWords(world.words)],
];

describe.each(ways)("sessions of a server that tells by %s", (_title, cluster, told) => {
  it("stand on the page with address, time-out and locks as the server has them", async () => {
    const truth = await told();
    await view.open(world.dashboard.url, cluster);
    const shown = await view.rows();
    expect([...shown.keys()].sort()).toEqual([...truth.keys()].sort());
    for (const [id, session] of truth) {
      expect(shown.get(id), id).toMatchObject({
        address: session.address,
        state: "connected",
        timeout: `${session.timeoutMs / 1_000} s`,
        // A whole number of minutes is written without seconds.
        established: expect.stringMatching(/^\d+ (s|min|min \d+ s)exact$/),
        lastSeen: expect.stringMatching(/^≥ \d+ (s|min|min \d+ s)first seen$/),
        ...sharesOf(session, truth),
      });
    }
    expect([...shown.values()].map(({ timeout }) => timeout)).toEqual(
      expect.arrayContaining(["7 s", "8 s", "9 s"]),
    );
    expect(await view.notices()).toEqual([]);
    expect(tab.trouble()).toEqual([]);
  });

  it("each have a page that says to what they are connected, what they hold and for what they wait", async () => {
    const truth = await told();
    const busy = [...truth].find(([, { ephemerals }]) => ephemerals.length === 2);
    if (busy === undefined) throw new Error("nobody holds one lock and waits for another");
    const [id, session] = busy;
    await tab.page.goto(`${world.dashboard.url}sessions/${id}?of=${cluster}`);
    await tab.page.getByRole("heading", { level: 1, name: id }).waitFor();
    const server = cluster === "admin" ? world.admin : world.words;
    expect(await facts()).toMatchObject({
      Address: session.address,
      "Connected to": server.connectString,
      "Time-out": "9 s",
    });
    expect(await listed("Holds (1)")).toEqual([`${world.root}/own`]);
    expect(await listed("Waits for (1)")).toEqual([`${world.root}/orders`]);
    await tab.page.getByText("If it ends: 1 lock is released").waitFor();
    expect(tab.trouble()).toEqual([]);
  });
});

describe("sessions of a server that does not tell", () => {
  it("stand on the page with what their nodes say, and the page says what is not known and why", async () => {
    const truth = await toldByAdmin(world.admin);
    await view.open(world.dashboard.url, "neither");
    const shown = await view.rows();
    const owners = [...truth].filter(([, { ephemerals }]) => ephemerals.length > 0);
    expect([...shown.keys()].sort()).toEqual(owners.map(([id]) => id).sort());
    for (const [id, session] of owners) {
      expect(shown.get(id), id).toMatchObject({
        server: "neither zookeeper",
        state: "unknown",
        timeout: "unknown",
        established: "unknown",
        lastSeen: "unknown",
        ...sharesOf(session, truth),
      });
      expect(shown.get(id)?.address).not.toContain(session.address);
    }
    const names = [...shown.values()].filter(({ name }) => name.includes(`pid ${process.pid}`));
    expect(names).toHaveLength(1);
    const why = `neither: ${world.admin.connectString} does not tell who is connected to it: there is no AdminServer at port ${world.wrongPort}; cons is not in the server's 4lw.commands.whitelist. Addresses, time-outs and last signs of life of those sessions are not known`;
    expect(await view.notices()).toEqual([expect.stringContaining(why)]);
    await tab.page.locator("tbody tr th a").first().click();
    await tab.page.getByRole("heading", { level: 1, name: /^0x/ }).waitFor();
    expect(await facts()).toMatchObject({
      Address: "unknown",
      "Connected to": "unknown",
      "Time-out": "unknown",
    });
    await tab.page.getByText(why).waitFor();
    expect(tab.trouble()).toEqual([]);
  });
});

describe("a server whose AdminServer is open to everyone", () => {
  it("is a finding, and its figures stand among the backends without any four-letter word but srvr", async () => {
    await tab.page.goto(`${world.dashboard.url}backends?cluster=admin`);
    const table = tab.page.getByRole("table", { name: "Servers of admin" });
    await table.waitFor();
    const names = await table.locator("thead th").allTextContents();
    const values = await table.locator("tbody tr").first().locator("th, td").allTextContents();
    const row = Object.fromEntries(names.map((name, at) => [name, values[at]]));
    const truth = await toldByAdmin(world.admin);
    const ephemerals = [...truth.values()].reduce((sum, each) => sum + each.ephemerals.length, 0);
    expect(row).toMatchObject({
      Server: world.admin.connectString,
      Role: "standalone",
      Reachable: "yes",
      Version: "3.8.0",
      "ephemeral nodes": `${ephemerals}`,
      AdminServer: `open to everyone at port ${world.admin.adminPort}`,
    });
    await tab.page.goto(`${world.dashboard.url}findings?cluster=admin`);
    await tab.page.getByText("AdminServer is open to everyone").first().waitFor();
    expect(tab.trouble()).toEqual([]);
  });
});

/** How many locks a session holds and waits for. The node with the lowest number of each lock is the holder's. */
function sharesOf(session: ToldSession, all: ToldSessions): { holds: string; waits: string } {
  const lockOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
  const everything = [...all.values()].flatMap(({ ephemerals }) => ephemerals);
  const isFirst = (path: string): boolean =>
    everything.every((other) => lockOf(other) !== lockOf(path) || path.slice(-10) <= other.slice(-10));
  const holds = session.ephemerals.filter(isFirst).length;
  return { holds: `${holds}`, waits: `${session.ephemerals.length - holds}` };
}

async function facts(): Promise<Record<string, string>> {
  const boxes = tab.page.locator("dl.facts.boxed > div");
  const all = await boxes.evaluateAll((each) =>
    each.map((box) => [
      box.querySelector("dt")?.textContent ?? "",
      box.querySelector("dd")?.textContent ?? "",
    ]),
  );
  return Object.fromEntries(all);
}

async function listed(heading: string): Promise<string[]> {
  const section = tab.page.locator("section", { has: tab.page.getByRole("heading", { name: heading }) });
  return section.locator("li a").allTextContents();
}
