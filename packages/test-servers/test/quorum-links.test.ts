import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually, freePorts } from "../src/index.js";
import { QuorumLinks } from "../src/zookeeper/quorum-links.js";
import { EchoServer, PlainClient } from "./support/echo-server.js";

let links: QuorumLinks;
/** Stands for the quorum port of server 2. */
let second: EchoServer;

beforeEach(async () => {
  const [q1 = 0, e1 = 0, q2 = 0, e2 = 0] = await freePorts(4);
  second = new EchoServer(q2);
  links = await QuorumLinks.open(
    [
      { id: 1, quorumPort: q1, electionPort: e1 },
      { id: 2, quorumPort: q2, electionPort: e2 },
    ],
    true,
  );
});

afterEach(() => links.close());

/** The port at which server `id` reaches the quorum port of `peer`. */
function quorumPort(id: number, peer: number): number {
  const line = links.linesFor(id).find((text) => text.startsWith(`server.${peer}=`));
  return Number(line?.split(":")[1]);
}

test("a server finds its own ports as they are and those of its peers behind proxies", () => {
  expect(quorumPort(2, 2)).toBe(second.port);
  expect(quorumPort(1, 2)).not.toBe(second.port);
  expect(quorumPort(2, 1)).not.toBe(quorumPort(1, 1));
});

test("a follower that is faster than the new leader waits for it", async () => {
  const follower = await PlainClient.connect(quorumPort(1, 2));
  follower.socket.write("I follow");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(follower.state).toBe("open");
  await second.listen();
  await follower.receives("I follow");
  await second.close();
});

test("a cut from one server to another holds up what it says on either's connections, and nothing else", async () => {
  await second.listen();
  const client = await PlainClient.connect(quorumPort(1, 2));
  client.socket.write("a");
  await client.receives("a");

  await links.cut(2, 1);
  client.socket.write("b");
  await eventually(() => second.received === 2, { what: "server 2 to hear server 1" });
  expect(client.text).toBe("a");
  await links.cut(1, 2);
  await links.heal(2, 1);
  await client.receives("ab");
  client.socket.write("c");
  second.sockets[0]?.write("d");
  await client.receives("abd");
  expect(second.received).toBe(2);
  await links.heal(1, 2);
  await client.receives("abdc");
  await second.close();
});
