import { EventEmitter } from "node:events";
import { systemRuntime } from "@holdfast/core";
import type { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { OutcomeUnknownError } from "../../src/client/errors.js";
import { NodeConnection } from "../../src/client/node-connection.js";

const refused = new Error("Stream isn't writeable and enableOfflineQueue options is false");

/** A client of ioredis that is connected to a master, and settles no command but INFO by itself. */
class IdleClient extends EventEmitter {
  readonly status = "ready";
  stream = { writable: true, cork: () => {}, uncork: () => {} };
  reject: (error: Error) => void = () => {};

  call(name: string): Promise<unknown> {
    if (name === "info") return Promise.resolve("run_id:r\r\nrole:master\r\nredis_version:7.2.0\r\n");
    return new Promise((_, reject) => {
      this.reject = reject;
    });
  }
}

async function open(): Promise<{ client: IdleClient; connection: NodeConnection }> {
  const client = new IdleClient();
  const connection = await new Promise<NodeConnection>((resolve) => {
    const made: NodeConnection = new NodeConnection(client as unknown as Redis, {
      runtime: systemRuntime,
      servers: () => ["a:1"],
      extraWaitMs: 0,
      redial: false,
      onTrusted: () => resolve(made),
      onBroken: () => {},
      onFailed: () => {},
    });
  });
  onTestFinished(() => connection.close());
  return { client, connection };
}

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
  client.stream = { ...client.stream };
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
