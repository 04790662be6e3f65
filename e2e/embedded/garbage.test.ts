import {
  type EmbeddedZooKeeper,
  eventually,
  fourLetterWord,
  ManualClock,
  startEmbeddedZooKeeper,
} from "@holdfast/test-servers";
import { CreateFlags, maxRequestBytes, openAcl } from "@holdfast/zk-protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chance } from "../support/faults/fault-chance.js";
import { share } from "../support/share.js";
import { hello, request, Stranger } from "./stranger.js";
import { Witness } from "./witness.js";

let clock: ManualClock;
let server: EmbeddedZooKeeper;
let witness: Witness;

beforeEach(async () => {
  clock = new ManualClock();
  server = await startEmbeddedZooKeeper({ clock, words: ["mntr"] });
  witness = await Witness.open(server.port);
});

afterEach(async () => {
  // Whatever the test did, the witness still has its session and its nodes, and gets its answers in order.
  await witness.look();
  witness.close();
  await server.stop();
});

/** Not all at a time: the kernel lets the connections that it cannot queue wait for a second. */
async function crowd(size: number, meet: () => Promise<Stranger>): Promise<Stranger[]> {
  const strangers: Stranger[] = [];
  while (strangers.length < size) {
    const next = Math.min(50, size - strangers.length);
    strangers.push(...(await Promise.all(Array.from({ length: next }, meet))));
  }
  return strangers;
}

/** Waits until the server has accepted so many connections, because their time begins there. */
async function accepted(connections: number): Promise<void> {
  await eventually(
    async () => {
      const counts = await fourLetterWord("mntr", { port: server.port });
      return Number(/zk_num_alive_connections\t(\d+)/.exec(counts)?.[1]) >= connections;
    },
    { what: `${connections} connections`, everyMs: 10 },
  );
}

const length = (bytes: number): Buffer => {
  const field = Buffer.alloc(4);
  field.writeInt32BE(bytes);
  return field;
};

/** Lets time pass on the server's clock. The witness pings as often as a client does, so that its session lives. */
async function pass(ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= 2_000) {
    clock.advance(Math.min(leftMs, 2_000));
    await witness.ping();
  }
}

const shapes: Readonly<Record<string, Buffer>> = {
  "a negative length": length(-1),
  "the least length there is": length(-(2 ** 31)),
  "the greatest length there is": length(2 ** 31 - 1),
  "a length one over the limit": Buffer.concat([length(maxRequestBytes + 1), Buffer.alloc(64)]),
  "a request of HTTP": Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  "the beginning of TLS": Buffer.from("160301020001000001fc0303", "hex"),
  "an empty frame": length(0),
  "a frame of three bytes": Buffer.concat([length(3), Buffer.alloc(3)]),
  "four zeros again and again": Buffer.alloc(4_096),
  "nothing but ones": Buffer.alloc(4_096, 0xff),
};

describe("what is no frame ends its connection at once", () => {
  test.each(Object.entries(shapes))("%s in place of the handshake", async (_shape, bytes) => {
    const stranger = await Stranger.meet(server.port, bytes);
    await stranger.dismissed();
    expect(stranger.bytes).toBe(0);
  });

  test.each(Object.entries(shapes))("%s in a session", async (_shape, bytes) => {
    const stranger = await Stranger.known(server.port);
    stranger.send(bytes);
    await stranger.dismissed();
  });
});

test("a longest frame is announced, and what is not sent is not paid for", async () => {
  const before = process.memoryUsage().rss;
  const strangers = await crowd(200, () =>
    Stranger.meet(server.port, length(maxRequestBytes), Buffer.alloc(16)),
  );
  await accepted(200);
  await witness.look();
  // 200 frames at their full length would be 200 MB.
  expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
  await pass(10_000);
  for (const stranger of strangers) await stranger.dismissed();
});

test("half a frame ends with the session at the latest, and half a handshake after 10 seconds", async () => {
  const { length: most } = hello();
  const halves: Stranger[] = [];
  for (let bytes = 0; bytes < most; bytes += 3) {
    halves.push(await Stranger.meet(server.port, hello().subarray(0, bytes)));
  }
  const whole = request(1, "exists", { path: "/half", watch: false });
  for (let bytes = 1; bytes < whole.length; bytes += 3) {
    const half = await Stranger.known(server.port);
    half.send(whole.subarray(0, bytes));
    halves.push(half);
  }
  await witness.look();
  expect(halves.filter(({ ended }) => ended)).toEqual([]);
  await pass(11_000);
  for (const half of halves) await half.dismissed();
  expect(server.sessions()).toHaveLength(1);
});

test("a connection that sends one byte a second is not waited for any longer than one that sends none", async () => {
  const slow = await Stranger.meet(server.port);
  const known = await Stranger.known(server.port);
  const bytes = hello();
  const asked = request(1, "create", { path: "/slow", data: null, acl: openAcl, flags: 0 });
  for (let second = 0; second < 12; second++) {
    if (!slow.ended) slow.send(bytes.subarray(second, second + 1));
    if (!known.ended) known.send(asked.subarray(second, second + 1));
    await witness.look();
    await pass(1_000);
  }
  await slow.dismissed();
  await known.dismissed();
  expect(server.sessions()).toHaveLength(1);
});

test("1,000 connections without a word and 1,000 sessions without a ping disturb no client, and go when their time is over", async () => {
  const silent = await crowd(1_000, () => Stranger.meet(server.port));
  const idle = await crowd(1_000, () => Stranger.known(server.port));
  await accepted(2_000);
  expect(server.sessions()).toHaveLength(1_001);
  const startedMs = performance.now();
  for (let looks = 0; looks < 50; looks++) await witness.look();
  expect(performance.now() - startedMs).toBeLessThan(30_000);
  await pass(11_000);
  for (const stranger of [...silent, ...idle]) await stranger.dismissed();
  expect(server.sessions()).toHaveLength(1);
});

test("connections that are reset in the middle of anything leave nothing but their sessions", async () => {
  for (let bytes = 0; bytes < 90; bytes++) {
    const whole = Buffer.concat([
      hello(),
      request(1, "create", {
        path: `/reset-${bytes}`,
        data: null,
        acl: openAcl,
        flags: CreateFlags.ephemeral,
      }),
    ]);
    const stranger = await Stranger.meet(server.port, whole.subarray(0, bytes));
    stranger.socket.resetAndDestroy();
  }
  await witness.look();
  await pass(11_000);
  expect(server.sessions()).toHaveLength(1);
  expect(server.nodes("/").map(({ path }) => path)).toEqual(["/", "/witness", "/witness/mine"]);
});

test("a connection that asks for much and reads nothing waits, and goes with its session", async () => {
  const greedy = await Stranger.known(server.port);
  const data = Buffer.alloc(1_000_000);
  greedy.send(request(1, "create", { path: "/big", data, acl: openAcl, flags: CreateFlags.ephemeral }));
  await eventually(() => server.operator.exists("/big"), { what: "the node" });
  greedy.socket.pause();
  const before = process.memoryUsage().rss;
  // The answers to these would be a gigabyte.
  const asked = Array.from({ length: 1_000 }, (_, index) =>
    request(2 + index, "getData", { path: "/big", watch: false }),
  );
  greedy.send(...asked);
  await witness.look();
  await witness.look();
  expect(process.memoryUsage().rss - before).toBeLessThan(300e6);
  await pass(5_000);
  expect(server.sessions()).toHaveLength(1);
  greedy.socket.resume();
  await greedy.dismissed();
});

test("a connection that asks for much and reads all of it gets it all", async () => {
  const patient = await Stranger.known(server.port);
  const data = Buffer.alloc(1_000_000);
  patient.send(request(1, "create", { path: "/big", data, acl: openAcl, flags: CreateFlags.ephemeral }));
  const asked = Array.from({ length: 100 }, (_, index) =>
    request(2 + index, "getData", { path: "/big", watch: false }),
  );
  patient.send(...asked);
  await eventually(() => patient.bytes > 100 * data.length, { what: "100 MB" });
  patient.socket.destroy();
});

test("requests with bytes knocked over are answered or end their own connection", async () => {
  const random = chance("mutated frames");
  const below = (end: number): number => Math.floor(random() * end);
  const rounds = share("mutated frames", 600, 20_000);
  const path = "/fuzz/a";
  const watches = { dataWatches: [path], existWatches: ["/fuzz/b"], childWatches: ["/fuzz"] };
  const lasting = { persistentWatches: ["/fuzz"], persistentRecursiveWatches: [path] };
  const created = { path: "/fuzz", data: Buffer.from("x"), acl: openAcl, flags: CreateFlags.ephemeral };
  const whole = [
    request(1, "create", created),
    request(1, "create2", created),
    request(1, "createTTL", { ...created, flags: CreateFlags.ttl, ttlMs: 1_000n }),
    request(1, "createContainer", { ...created, flags: CreateFlags.container }),
    request(1, "getData", { path, watch: true }),
    request(1, "getChildren2", { path: "/fuzz", watch: true }),
    request(1, "setData", { path, data: null, version: 7 }),
    request(1, "setACL", { path, acl: openAcl, version: 0 }),
    request(1, "delete", { path, version: -1 }),
    request(1, "sync", { path }),
    request(-2, "ping", undefined),
    request(-4, "auth", { type: 0, scheme: "digest", auth: Buffer.from("a:b") }),
    request(-8, "setWatches", { relativeZxid: 1n, ...watches }),
    request(-8, "setWatches2", { relativeZxid: 1n, ...watches, ...lasting }),
    request(1, "addWatch", { path: "/fuzz", mode: 1 }),
    request(1, "removeWatches", { path: "/fuzz", type: 3 }),
    request(1, "multi", {
      ops: [
        { op: "create", request: created },
        { op: "delete", request: { path, version: -1 } },
        { op: "check", request: { path, version: 3 } },
      ],
    }),
    request(1, "multiRead", { ops: [{ op: "getData", request: { path, watch: false } }] }),
    request(1, "closeSession", undefined),
  ];
  const mutate = (frame: Buffer): Buffer => {
    const bytes = Buffer.from(frame);
    const times = 1 + below(4);
    for (let time = 0; time < times; time++) {
      // Most changes are in the record, because a wrong operation number ends the connection before the record is read.
      const from = below(6) === 0 || bytes.length <= 12 ? 4 : 12;
      const at = from + below(bytes.length - from);
      const how = below(4);
      if (how === 0) bytes[at] = below(256);
      else if (how === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
      else if (how === 2 && at + 4 <= bytes.length)
        bytes.writeInt32BE([-1, -2, 0, 2 ** 31 - 1][below(4)] ?? 0, at);
      else bytes.fill(0xff, at);
    }
    const cut = below(3) === 0 ? bytes.subarray(0, 4 + below(bytes.length - 3)) : bytes;
    // The length field is mostly right, so that most of these bytes pass as a frame.
    if (below(5) > 0) cut.writeInt32BE(cut.length - 4, 0);
    return cut;
  };
  let ended = 0;
  let answered = 0;
  for (let round = 0; round < rounds; round += 25) {
    const strangers = await Promise.all(
      Array.from({ length: Math.min(25, rounds - round) }, () => Stranger.known(server.port)),
    );
    await Promise.all(
      strangers.map(async (stranger) => {
        const greeting = stranger.bytes;
        const frames = Array.from({ length: 1 + below(3) }, () =>
          mutate(whole[below(whole.length)] as Buffer),
        );
        stranger.send(...frames);
        await witness.ping();
        if (stranger.ended) ended++;
        else stranger.socket.end();
        await stranger.dismissed();
        if (stranger.bytes > greeting) answered++;
      }),
    );
    await witness.look();
  }
  console.log(
    `${rounds} connections with mutated frames: ${ended} ended by the server, ${answered} answered`,
  );
  expect(ended).toBeGreaterThan(rounds / 10);
  expect(answered).toBeGreaterThan(rounds / 10);
  await pass(11_000);
  expect(server.sessions()).toHaveLength(1);
}, 240_000);
