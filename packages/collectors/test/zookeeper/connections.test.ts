import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { InvalidArgumentError } from "@holdfast/core";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { describe, expect, it, onTestFinished } from "vitest";
import { askWithinMs, readConnections, readEphemerals } from "../../src/zookeeper/connections.js";
import type { LockBook } from "../../src/zookeeper/lock-book.js";
import { resolveSettings, type Settings } from "../../src/zookeeper/options.js";
import { readServers } from "../../src/zookeeper/servers.js";
import { SessionContacts } from "../../src/zookeeper/session-contacts.js";
import { readSessions } from "../../src/zookeeper/sessions.js";

const notServing = "This ZooKeeper instance is not currently serving requests";

/** `words`: the server's answer to any four-letter word. `admin`: the answer of its AdminServer to any command. */
async function settingsFor(words: string, admin: string | null, status = 200): Promise<Settings> {
  const port = await listening(
    createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(words));
    }),
  );
  const adminPort =
    admin === null
      ? (false as const)
      : await listening(
          createHttpServer((_, response) => {
            response.statusCode = status;
            response.end(admin);
          }),
        );
  return resolveSettings({ connect: `127.0.0.1:${port}`, roots: [], adminPort });
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

/** A server with one connection, which lists it by words. The port of its AdminServer accepts requests and is silent. */
async function behindFirewall(): Promise<Settings> {
  const cons = " /10.1.2.3:5000[1](queued=0,sid=0x10,est=1700000000000,to=9000,lresp=12)\n";
  const { connect } = await settingsFor(cons, null);
  const open: Socket[] = [];
  const adminPort = await listening(createServer((socket) => void open.push(socket.on("error", () => {}))));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
  });
  return { ...resolveSettings({ connect: "127.0.0.1", roots: [], adminPort }), connect };
}

it("a server without a quorum reports nothing, neither by words nor by its AdminServer, which is open all the same", async () => {
  const settings = await settingsFor(notServing, `{"command":"connections","error":"${notServing}"}`);
  const { connections, silent, openAdmins } = await readConnections(settings);
  const server = `127.0.0.1:${settings.connect.servers[0]?.port}`;
  expect({ connections, openAdmins }).toEqual({ connections: [], openAdmins: [server] });
  const why = `the AdminServer does not answer connections: ${notServing}; the server serves no client now: it is not part of a quorum`;
  expect(silent).toEqual([{ server, why }]);
  expect(await readEphemerals(settings)).toBe(null);
  const [read] = (await readServers(settings)).servers;
  expect(read).toMatchObject({ role: "unknown", reachable: true });
  expect(read?.facts.map(({ name }) => name)).toEqual(["AdminServer", "not reported"]);
});

it("an AdminServer's port that is silent, as behind a firewall, is waited for once in a minute", async () => {
  const settings = await behindFirewall();
  expect((await readConnections(settings)).connections).toHaveLength(1);
  const begunMs = performance.now();
  expect((await readConnections(settings)).connections).toHaveLength(1);
  await readEphemerals(settings);
  // Each of the two would wait at least as long as this for the silent port.
  expect(performance.now() - begunMs).toBeLessThan(askWithinMs);
});

it("the sessions are read within the time that their page allows, also where the AdminServer's port is silent", async () => {
  const settings = await behindFirewall();
  const request = async () => ({ data: Buffer.from("server.1=here") });
  const session = { state: "connected", request } as unknown as ZooKeeperSession;
  const book = { size: 0, locks: () => [] } as unknown as LockBook;
  const begunMs = performance.now();
  const { sessions } = await readSessions(settings, session, book, {} as never, new SessionContacts());
  expect(sessions).toHaveLength(1);
  expect(performance.now() - begunMs).toBeLessThan(5_000);
});

it("the end of a session without a connection is counted from this outage, and not from one that was seen long ago", async () => {
  const line = (sid: string) =>
    ` /10.1.2.3:5000[1](queued=0,sid=${sid},est=1700000000000,to=9000,lresp=12)\n`;
  const read = await settingsFor(line("0x10"), null);
  const other = await settingsFor(line("0x11"), null);
  const request = async () => ({ data: Buffer.from("server.1=here") });
  const session = { state: "connected", request } as unknown as ZooKeeperSession;
  let nowMs = 0;
  const at = (settings: Settings) => ({ ...settings, runtime: { ...settings.runtime, nowMs: () => nowMs } });
  const contacts = new SessionContacts();
  await contacts.read(at(read), session);
  await contacts.read(at(other), session);
  expect(contacts.of("0x10", 1_000_000)).toMatchObject({ state: "suspended", endsMs: 1_009_000 });
  // An hour without a reading: the session may have been connected meanwhile, so the time until its end starts anew.
  nowMs += 3_600_000;
  await contacts.read(at(other), session);
  expect(contacts.of("0x10", 4_600_000).endsMs).toBe(4_609_000);
  nowMs += 2_000;
  await contacts.read(at(other), session);
  expect(contacts.of("0x10", 4_602_000).endsMs).toBe(4_609_000);
});

it("something else at the AdminServer's port is none, and the words are asked", async () => {
  const cons = " /10.1.2.3:5000[1](queued=0,sid=0x10,est=1700000000000,to=9000,lresp=12)\n";
  const settings = await settingsFor(cons, "<html>welcome</html>", 404);
  const { connections, silent, openAdmins } = await readConnections(settings);
  expect({ silent, openAdmins }).toEqual({ silent: [], openAdmins: [] });
  expect(connections).toMatchObject([{ session: "0x10", address: "10.1.2.3:5000", timeoutMs: 9_000 }]);
});

it.each([
  ["not asked", null, "its AdminServer is not asked"],
  ["that of another program", "<html>", "something else than an AdminServer answers (HTTP 200) at port"],
])(
  "a server is listed as silent when its AdminServer is %s and its words are not allowed",
  async (_, admin, why) => {
    const settings = await settingsFor("cons is not executed because it is not in the whitelist.\n", admin);
    const { silent } = await readConnections(settings);
    expect(silent).toHaveLength(1);
    expect(silent[0]?.why).toContain(why);
    expect(silent[0]?.why).toContain("cons is not in the server's 4lw.commands.whitelist");
  },
);

describe("a server name of TLS that is no string", () => {
  const connect = "127.0.0.1:1";

  it("is refused with the other options", () => {
    const make = () => resolveSettings({ connect, roots: [], tls: { servername: 5 as never } });
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow("tls: servername must be a string; got 5");
  });

  it("is the reason why a server is not read, when the options have become so since", async () => {
    const tls: { servername: string } = { servername: "zk" };
    const settings = resolveSettings({ connect, roots: [], adminPort: false, tls });
    tls.servername = 5 as never;
    const [read] = (await readServers(settings)).servers;
    expect(read?.reachable).toBe(false);
    expect(read?.facts).toContainEqual({
      name: "not reported",
      value: "option tls: servername must be a string; got 5",
      warning: true,
    });
  });
});
