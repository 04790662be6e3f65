import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { systemRuntime } from "@holdfast/core";
import {
  commandSettings,
  failureOf,
  NotSentError,
  OutcomeUnknownError,
  ReplyError,
  takesCommands,
} from "@holdfast/redis-recipes/internal";
import { Redis, type RedisOptions } from "ioredis";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { Link } from "../../src/redis/link.js";

let server: Server;
/** What the server does with the text that it receives. By default it answers nothing. */
let hear: (socket: Socket, text: string) => void;

beforeEach(async () => {
  hear = () => {};
  server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => hear(socket, String(bytes)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => void server.close());

async function open(): Promise<Link> {
  const { port } = server.address() as AddressInfo;
  // The client sends nothing by itself, not even to become ready: each request comes from a test.
  const settings = {
    ...commandSettings(),
    protocol: 2,
    enableReadyCheck: false,
    disableClientInfo: true,
    port,
  };
  const redis = new Redis(settings as Omit<RedisOptions, "replyMapping">);
  const link = new Link(redis, systemRuntime);
  onTestFinished(() => link.close());
  await once(redis, "ready");
  return link;
}

test("a server is called as the options call it, and where sentinels name it, as the last connection had it", async () => {
  const link = await open();
  const { port } = server.address() as AddressInfo;
  const names = (): string[] =>
    [[{ host: "s", port: 1 }], null].map((sentinels) => {
      Object.assign(link.redis.options, { sentinels });
      return link.name;
    });
  const expected = [`127.0.0.1:${port}`, `localhost:${port}`];
  expect(names()).toEqual(expected);
  link.redis.disconnect();
  await once(link.redis, "end");
  expect(names()).toEqual(expected);
});

test.each([{ atomic: false }, { atomic: true }])(
  "a stream that has ended takes no commands, while ioredis still says that it is ready: not sent, $atomic",
  async (options) => {
    const link = await open();
    link.redis.stream.end();
    expect(link.redis.status).toBe("ready");
    expect(link.open).toBe(false);
    expect(takesCommands(link.redis)).toBe(false);
    await expect(link.send([["get", "a"]], options)).rejects.toBeInstanceOf(NotSentError);
  },
);

test.each([{ atomic: false }, { atomic: true }])(
  "commands of which the connection breaks in the middle of the answers have an unknown outcome, $atomic",
  async (options) => {
    const link = await open();
    hear = (socket) => socket.end("+OK\r\n");
    const commands = [
      ["set", "a", 1],
      ["set", "b", 1],
    ] as const;
    await expect(link.send(commands, options)).rejects.toBeInstanceOf(OutcomeUnknownError);
  },
);

test("a command that is refused has its refusal in its place, and the others their answers", async () => {
  const link = await open();
  hear = (socket) => socket.write("+OK\r\n-MOVED 1 127.0.0.1:2\r\n:3\r\n");
  const [first, second, third] = await link.send([
    ["set", "a", 1],
    ["get", "b"],
    ["incr", "c"],
  ]);
  expect([first, third]).toEqual(["OK", 3]);
  expect(second).toMatchObject({ name: "ReplyError", kind: "moved" });
});

const words: readonly (readonly [name: string, message: string, expected: unknown])[] = [
  ["Error", "Stream isn't writeable and enableOfflineQueue options is false", NotSentError],
  ["Error", "Connection in subscriber mode, only subscriber commands may be used", NotSentError],
  ["Error", "Connection is in monitoring mode, can't process commands.", NotSentError],
  ["ReplyError", "READONLY You can't write against a read only replica.", ReplyError],
  ["Error", "Connection is closed.", OutcomeUnknownError],
  ["Error", "Command timed out", OutcomeUnknownError],
  ["AbortError", "Command aborted due to connection close", OutcomeUnknownError],
  [
    "MaxRetriesPerRequestError",
    "Reached the max retries per request limit (which is 0).",
    OutcomeUnknownError,
  ],
  ["Error", "words of a later release", OutcomeUnknownError],
];

test.each(words)(
  "an error of ioredis shows what became of the command: %s: %s",
  (name, message, expected) => {
    const error = Object.assign(new Error(message), { name });
    expect(failureOf(error, { servers: ["a:1"] }, null)).toBeInstanceOf(expected);
  },
);
