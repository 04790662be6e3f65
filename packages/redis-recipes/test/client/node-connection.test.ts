import { EventEmitter } from "node:events";
import { type Millis, type Runtime, systemRuntime } from "@holdfast/core";
import type { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { NotSentError, OutcomeUnknownError } from "../../src/client/errors.js";
import { NodeConnection } from "../../src/client/node-connection.js";
import { defaultTimes } from "../../src/client/settings.js";

const refused = new Error("Stream isn't writeable and enableOfflineQueue options is false");

class IdleStream extends EventEmitter {
  readonly writable = true;
  /** The error with which the stream was ended. */
  endedBy: Error | null = null;
  destroy(error: Error): void {
    this.endedBy = error;
  }
  cork(): void {}
  uncork(): void {}
}

/**
 * A client of ioredis that is connected to a master. It answers only the first questions about its server; the test settles
 * everything else.
 */
class IdleClient extends EventEmitter {
  readonly status = "ready";
  stream = new IdleStream();
  reject: (error: Error) => void = () => {};
  /** One function for each command that waits for its answer. */
  readonly answers: ((reply: unknown) => void)[] = [];
  /** What each command was about, in the order in which the commands were written. */
  readonly written: string[] = [];
  /** How often it was asked for its role after the introduction. */
  roleAsked = 0;
  /** How often ioredis itself would have limited the silence of its connection. */
  limits = 0;
  /** Whether the server still loads its data when it introduces itself. */
  loading = false;
  /** How many questions about the server are answered at once: four on each connection. */
  introductions = 4;

  setSocketTimeout(): void {
    this.limits++;
  }

  call(name: string, about = ""): Promise<unknown> {
    if (this.introductions-- > 0) {
      const loading = about === "persistence" && this.loading ? "loading:1\r\n" : "";
      return Promise.resolve(`run_id:r\r\nrole:master\r\nredis_version:7.2.0\r\n${loading}`);
    }
    if (name === "info") this.roleAsked++;
    return new Promise((resolve, reject) => {
      const answer = (reply: unknown): void => {
        this.stream.emit("data");
        resolve(reply);
      };
      if (name !== "info") {
        this.answers.push(answer);
        this.written.push(about);
      }
      this.reject = reject;
    });
  }
}

/** Time passes only by `pass`. Timers that are due ring in the order in which they were set. */
class HandClock implements Pick<Runtime, "nowMs" | "setTimer"> {
  #nowMs = 0;
  readonly #timers = new Map<object, { atMs: Millis; ring: () => void }>();

  nowMs = (): Millis => this.#nowMs;

  setTimer = (delayMs: Millis, ring: () => void): (() => void) => {
    const id = {};
    this.#timers.set(id, { atMs: this.#nowMs + delayMs, ring });
    return () => void this.#timers.delete(id);
  };

  async pass(ms: Millis): Promise<void> {
    this.#nowMs += ms;
    for (const [id, { atMs, ring }] of [...this.#timers]) {
      if (atMs > this.#nowMs) continue;
      this.#timers.delete(id);
      ring();
    }
    await settled();
  }

  async passInSteps(ms: Millis): Promise<void> {
    for (let left = ms; left > 0; left -= 100) await this.pass(100);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function open(
  runtime: Pick<Runtime, "nowMs" | "setTimer"> = systemRuntime,
  holding: () => boolean = () => true,
  client: IdleClient = new IdleClient(),
): Promise<{ client: IdleClient; connection: NodeConnection }> {
  const connection = await new Promise<NodeConnection>((resolve) => {
    const made: NodeConnection = new NodeConnection(client as unknown as Redis, {
      runtime: runtime as Runtime,
      servers: () => ["a:1"],
      times: defaultTimes,
      extraWaitMs: 0,
      redial: false,
      own: true,
      holding,
      onTrusted: () => resolve(made),
      onBroken: () => {},
      onFailed: () => {},
    });
  });
  onTestFinished(() => connection.close());
  return { client, connection };
}

test("a server that still loads its data is not trusted, and is asked again until it has them", async () => {
  const clock = new HandClock();
  const client = new IdleClient();
  client.loading = true;
  let trusted = false;
  const opened = open(clock, () => true, client).then(({ connection }) => {
    trusted = connection.trusted;
  });
  await settled();
  expect(trusted).toBe(false);
  client.loading = false;
  client.introductions = 4;
  await clock.pass(200);
  await opened;
  expect(trusted).toBe(true);
});

test("a command that ioredis refuses in the turn of the call was not sent", async () => {
  const { client, connection } = await open();
  const flight = connection.flight([["set", "a", 1]]);
  client.reject(refused);
  expect((await flight).outcomes).toMatchObject([{ error: { name: "NotSentError" } }]);
});

test("a command that ioredis refuses when it sends it again, on another connection, has an unknown outcome", async () => {
  const { client, connection } = await open();
  const flight = connection.flight([["set", "a", 1]]);
  client.emit("close");
  client.reject(refused);
  const [outcome] = (await flight).outcomes;
  expect(outcome && "error" in outcome && outcome.error).toBeInstanceOf(OutcomeUnknownError);
});

test("a command that a server refuses when a client sends it again, on another connection, has an unknown outcome", async () => {
  const { client, connection } = await open();
  const flight = connection.flight([["set", "a", 1]]);
  const { reject } = client;
  client.emit("close");
  client.stream = new IdleStream();
  client.emit("ready");
  reject(
    Object.assign(new Error("READONLY You can't write against a read only replica."), { name: "ReplyError" }),
  );
  const [outcome] = (await flight).outcomes;
  expect(outcome && "error" in outcome && outcome.error).toBeInstanceOf(OutcomeUnknownError);
});

test("a command that a server refuses on the connection on which it was sent was refused", async () => {
  const { client, connection } = await open();
  const flight = connection.flight([["set", "a", 1]]);
  client.reject(Object.assign(new Error("OOM command not allowed"), { name: "ReplyError" }));
  const [outcome] = (await flight).outcomes;
  expect(outcome).toMatchObject({ error: { name: "ReplyError", kind: "busy" } });
});

test("a command waits for its answer while the server answers others, and is unknown once it was silent for a second", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock);
  const early = connection.flight([["get", "a"]]);
  await clock.pass(900);
  const late = connection.flight([["get", "b"]]);
  client.answers[0]?.("1");
  expect((await early).outcomes).toEqual([{ reply: "1" }]);
  const third = connection.flight([["get", "c"]]);
  await clock.pass(900);
  client.answers[1]?.("2");
  expect(await late).toMatchObject({ outcomes: [{ reply: "2" }], sentMs: 900, answeredMs: 1_800 });
  // The last answer is less than a second old. Two steps, because a limit that has passed is checked once more before it counts.
  for (const ms of [998, 1]) await clock.pass(ms);
  let over = false;
  void third.then(() => {
    over = true;
  });
  await settled();
  expect(over).toBe(false);
  for (const ms of [1, 1, 1]) await clock.pass(ms);
  expect((await third).outcomes).toMatchObject([{ error: { name: "OutcomeUnknownError" } }]);
});

test("a command waits for its answer while more of it comes, and is unknown once nothing has come for a second", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock);
  const [long, cut] = [connection.flight([["get", "a"]]), connection.flight([["get", "b"]])];
  for (let part = 0; part < 7; part++) {
    await clock.pass(900);
    client.stream.emit("data");
  }
  client.answers[0]?.("1");
  expect(await long).toMatchObject({ outcomes: [{ reply: "1" }], answeredMs: 6_300 });
  expect(connection.trusted).toBe(true);
  for (const ms of [999, 1, 1]) await clock.pass(ms);
  expect((await cut).outcomes).toMatchObject([{ error: { name: "OutcomeUnknownError" } }]);
});

test.each([
  ["while something is held the server is asked for its role each second, whatever it answers", true, 1],
  ["where nothing is held an answer of late is enough, and a silent server is asked", false, 3],
])("%s", async (_what, holding, afterS) => {
  const clock = new HandClock();
  const { client, connection } = await open(clock, () => holding);
  const answered = connection.flight([["get", "a"]]);
  client.answers[0]?.("1");
  await answered;
  for (let second = 1; second < afterS; second++) {
    await clock.pass(1_000);
    expect(client.roleAsked).toBe(0);
  }
  await clock.pass(1_000);
  expect(client.roleAsked).toBe(1);
});

test("a connection ends once nothing has come for three seconds to what was asked, and a byte within them keeps it", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock);
  const flight = connection.flight([["get", "a"]]);
  await clock.passInSteps(2_900);
  expect((await flight).outcomes).toEqual([{ error: expect.any(OutcomeUnknownError) }]);
  client.stream.emit("data");
  await clock.passInSteps(2_900);
  expect(client.stream.endedBy).toBeNull();
  await clock.passInSteps(100);
  expect(client.stream.endedBy?.message).toContain("nothing came from the server for 3000 ms");
});

test("a connection ends once nothing has come for three seconds to the question for the role, where nothing else is asked", async () => {
  const clock = new HandClock();
  const { client } = await open(clock);
  await clock.passInSteps(1_000);
  expect(client.roleAsked).toBe(1);
  await clock.passInSteps(2_900);
  expect(client.stream.endedBy).toBeNull();
  await clock.passInSteps(100);
  expect(client.stream.endedBy?.message).toContain("nothing came from the server for 3000 ms");
});

test("what was answered at last, or went with its connection, ends none", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock, () => false);
  const answered = connection.flight([["get", "a"]]);
  await clock.passInSteps(1_200);
  expect((await answered).outcomes).toEqual([{ error: expect.any(OutcomeUnknownError) }]);
  // The question for the role was written after that command.
  client.answers[0]?.("1");
  client.reject(new Error("Connection is closed."));
  client.emit("close");
  await clock.passInSteps(4_000);
  expect(client.stream.endedBy).toBeNull();
});

test("ioredis limits the silence of a connection that is being made, and no command of one that is there", async () => {
  const { client, connection } = await open();
  client.setSocketTimeout();
  expect(client.limits).toBe(0);
  client.emit("close");
  client.setSocketTimeout();
  expect(client.limits).toBe(1);
  client.emit("ready");
  client.setSocketTimeout();
  expect(client.limits).toBe(1);
  // In a cluster ioredis keeps using the connection, so its own limit applies again.
  connection.close();
  client.setSocketTimeout();
  expect(client.limits).toBe(2);
});

test("an answer that lay unread while the process was late is read before it is missed", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock);
  const flight = connection.flight([["get", "a"]]);
  await clock.pass(5_000);
  client.answers[0]?.("1");
  expect((await flight).outcomes).toEqual([{ reply: "1" }]);
});

test("of very many commands only so many are without an answer, the others follow in order as answers come, and a break leaves them unsent", async () => {
  // No time passes on this clock, so no command is given up for its age.
  const { client, connection } = await open(new HandClock());
  const flights = Array.from({ length: 4_000 }, (_, place) => connection.flight([["get", `${place}`]]));
  const most = client.written.length;
  expect(most).toBeGreaterThan(100);
  expect(most).toBeLessThan(flights.length / 2);

  for (const answer of client.answers.splice(0, 10)) answer("here");
  await settled();
  // This command is asked for only now, so it comes after all that wait.
  const last = connection.flight([["get", "last"]]);
  expect(client.written).toEqual(Array.from({ length: most + 10 }, (_, place) => `${place}`));

  client.emit("close");
  const outcomes = (await Promise.all([...flights.slice(most + 10), last])).flatMap(
    ({ outcomes }) => outcomes,
  );
  expect(outcomes).toHaveLength(flights.length - most - 10 + 1);
  for (const outcome of outcomes) expect(outcome).toEqual({ error: expect.any(NotSentError) });
  expect(client.written).toHaveLength(most + 10);
});

test("commands that wait behind others are written once those were given up", async () => {
  const clock = new HandClock();
  const { client, connection } = await open(clock);
  const flights = Array.from({ length: 4_000 }, (_, place) => connection.flight([["get", `${place}`]]));
  const most = client.written.length;
  await clock.pass(defaultTimes.commandTimeoutMs);
  await clock.pass(1);
  expect((await flights[0])?.outcomes).toEqual([{ error: expect.any(OutcomeUnknownError) }]);
  expect(client.written.length).toBe(2 * most);
});
