import { expect, test } from "vitest";
import { startInside } from "./support/inside.js";

/** Runs a speaker and a listener in each of three namespaces and outside of them, and finds which of them reach each other. */
const agents = `
  const { spawn } = await import("node:child_process");
  const { once } = await import("node:events");
  const { createInterface } = await import("node:readline");
  const network = await createSwitch({ nodes: 3 });
  // With an address it dials; with "udp", an address and a number it sends a packet with the number. It says from which address a
  // packet came, and the number in it.
  const agent = \`
    const net = require("net"), udp = require("dgram").createSocket("udp4"), own = process.argv[1];
    net.createServer((socket) => socket.end()).listen(7000, own, () => udp.bind(8000, own, () => console.log("up")));
    udp.on("message", (data, from) => console.log("heard " + from.address + " " + data));
    require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const [word, to, number] = line.split(" ");
      if (word === "udp") return udp.send(number, 8000, to);
      const socket = net.connect(7000, to);
      const over = (well) => { console.log("dialled " + to + " " + well); socket.destroy(); };
      // A packet that gets through is answered at once, or at the first repetition on a busy machine.
      const timer = setTimeout(() => over(false), 3000);
      socket.on("connect", () => { clearTimeout(timer); over(true); });
      socket.on("error", () => {});
    }).on("close", () => process.exit(0));
  \`;
  const parties = [0, 1, 2, "clients"];
  const addressOf = (party) => (party === "clients" ? network.clients : network.address(party));
  const nameOf = new Map(parties.map((party) => [addressOf(party), party]));
  const speakers = new Map();
  const told = [];
  let question = 0;
  for (const party of parties) {
    const prefix = party === "clients" ? [] : network.place(party).prefix;
    const [program, ...args] = [...prefix, process.execPath, "-e", agent, addressOf(party)];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    speakers.set(party, child);
    await new Promise((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const [word, address, rest] = line.split(" ");
        if (word === "up") resolve();
        if (word === "dialled") told.push([party + ">" + nameOf.get(address), rest === "true"]);
        // A packet of an earlier question came through before the present cut.
        if (word === "heard" && rest === String(question)) told.push([nameOf.get(address) + ">" + party, true]);
      });
    });
  }
  const pairs = parties.flatMap((from) => parties.filter((to) => to !== from).map((to) => [from, to]));
  const pass = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /** A connection needs both ways, so a one-way cut shows as two pairs that fail. */
  const failing = async () => {
    told.length = 0;
    for (const [from, to] of pairs) speakers.get(from).stdin.write("tcp " + addressOf(to) + "\\n");
    while (told.length < pairs.length) await pass(10);
    return told.filter(([, well]) => !well).map(([pair]) => pair).sort();
  };
  /** Which pairs a packet came through, until one has come through all of the wanted ones. */
  const heard = async (wanted) => {
    told.length = 0;
    question += 1;
    for (let tries = 0; tries < 200; tries++) {
      for (const [from, to] of pairs) speakers.get(from).stdin.write("udp " + addressOf(to) + " " + question + "\\n");
      await pass(50);
      if (wanted.every((pair) => told.some(([each]) => each === pair))) break;
    }
    return [...new Set(told.map(([pair]) => pair))].sort();
  };
  const end = async () => {
    for (const child of speakers.values()) child.kill("SIGKILL");
    await network.close();
    process.exit(0);
  };
`;

test("cuts of every shape cut those pairs and no others, show that they dropped packets, and heal", async () => {
  await using inside = await startInside(`
    ${agents}
    say({ whole: await failing(), dropped: await network.dropped() });
    await network.cut(alone(1, 3));
    say({ cut: await failing(), dropped: await network.dropped() });
    await network.heal();
    await network.cut(alone(2, 3, true));
    say({ isolated: await failing() });
    await network.heal();
    say({ healed: await failing() });
    await end();
  `);
  expect(await inside.said()).toEqual({ whole: [], dropped: [0, 0, 0] });
  const { cut, dropped } = await inside.said<{ cut: string[]; dropped: number[] }>();
  expect(cut).toEqual(["0>1", "1>0", "1>2", "2>1"]);
  expect(dropped.every((count) => count > 0)).toBe(true);
  expect(await inside.said()).toEqual({ isolated: ["0>2", "1>2", "2>0", "2>1", "2>clients", "clients>2"] });
  expect(await inside.said()).toEqual({ healed: [] });
});

test("a one-way cut stops packets one way alone, also towards clients; in a ring they go round", async () => {
  await using inside = await startInside(`
    ${agents}
    const all = pairs.map(([from, to]) => from + ">" + to);
    const silent = async (cuts) => {
      await network.heal();
      await network.cut(cuts);
      const cut = cuts.map(([from, to]) => from + ">" + to);
      const came = await heard(all.filter((pair) => !cut.includes(pair)));
      return all.filter((pair) => !came.includes(pair)).sort();
    };
    say({ one: await silent([[0, 1]]) });
    say({ toClients: await silent([[2, "clients"]]) });
    say({ ring: await silent(ring([0, 1, 2])) });
    say({ none: await silent([]) });
    await end();
  `);
  expect(await inside.said()).toEqual({ one: ["0>1"] });
  expect(await inside.said()).toEqual({ toClients: ["2>clients"] });
  expect(await inside.said()).toEqual({ ring: ["0>2", "1>0", "2>1"] });
  expect(await inside.said()).toEqual({ none: [] });
});

test("the loss of a share of all packets is seen at every port, and what TCP repeats comes through", async () => {
  await using inside = await startInside(`
    ${agents}
    await network.lose(0.3);
    let tries = 0;
    const droppedAll = async () => (await network.dropped()).every((count) => count > 0);
    while (!(await droppedAll()) && tries++ < 20) await failing();
    say({ all: await droppedAll() });
    await network.lose(0);
    say({ healed: await failing() });
    await end();
  `);
  expect(await inside.said()).toEqual({ all: true });
  expect(await inside.said()).toEqual({ healed: [] });
});

test("ZooKeeper members at addresses of their own elect another leader when theirs is cut off, and take it back", async () => {
  await using inside = await startInside(`
    const { startEnsemble, eventually } = await import("@holdfast/test-servers");
    const network = await createSwitch({ nodes: 3 });
    const ensemble = await startEnsemble({ places: network.places() });
    const first = await ensemble.leader();
    say({ hosts: ensemble.nodes.map(({ host }) => host), wanted: [0, 1, 2].map((at) => network.address(at)) });
    await network.cut(alone(ensemble.nodes.indexOf(first), 3));
    const second = await eventually(async () => {
      const leaders = await ensemble.byRole("leader");
      return leaders.find((node) => node !== first);
    }, { what: "another leader", withinMs: 60_000 });
    say({ another: second !== first, dropped: (await network.dropped()).every((count) => count > 0) });
    await network.heal();
    await ensemble.ready(60_000);
    const roles = async () => [...(await ensemble.roles()).values()].sort();
    const all = await eventually(async () => {
      const now = await roles();
      return now.includes(undefined) ? null : now;
    }, { what: "an answer of every member" });
    say({ roles: all });
    await ensemble.stop();
    await network.close();
    process.exit(0);
  `);
  const { hosts, wanted } = await inside.said<{ hosts: string[]; wanted: string[] }>();
  expect(hosts).toEqual(wanted);
  expect(new Set(hosts).size).toBe(3);
  expect(await inside.said()).toEqual({ another: true, dropped: true });
  expect(await inside.said()).toEqual({ roles: ["follower", "follower", "leader"] });
});

test("Sentinels at addresses of their own replace a master that is cut off with the Sentinel beside it", async () => {
  await using inside = await startInside(`
    const { startRedisReplicaSet, eventually } = await import("@holdfast/test-servers");
    const network = await createSwitch({ nodes: 3 });
    const sentinelPeriods = { "info-period": 500, "publish-period": 200 };
    const set = await startRedisReplicaSet({ places: network.places(), sentinelPeriods });
    const first = await set.master();
    say({ hosts: [...set.nodes, ...set.sentinels].map(({ host }) => host) });
    await network.cut(alone(set.nodes.indexOf(first), 3));
    const masters = async () => [...(await set.roles())].filter(([, role]) => role?.role === "master").map(([node]) => node);
    const second = await eventually(async () => (await masters()).find((node) => node !== first), { what: "another master", withinMs: 60_000 });
    // Clients reach both sides.
    say({ masters: (await masters()).length, replaced: second !== first });
    await network.heal();
    await set.ready(60_000);
    say({ masters: (await masters()).length });
    await set.stop();
    await network.close();
    process.exit(0);
  `);
  const addresses = ["10.99.0.10", "10.99.0.11", "10.99.0.12"];
  expect(await inside.said()).toEqual({ hosts: [...addresses, ...addresses] });
  expect(await inside.said()).toEqual({ masters: 2, replaced: true });
  expect(await inside.said()).toEqual({ masters: 1 });
});
