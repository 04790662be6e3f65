import { Socket } from "node:net";
import { AbstractConnector, type RedisOptions } from "ioredis";
import { expect, test } from "vitest";
import { heardStreams } from "../../src/client/heard-streams.js";

test("a stream of ioredis ends with its first error, and a second one goes nowhere", async () => {
  const stream = new Socket();
  class Given extends AbstractConnector {
    constructor() {
      super(0);
    }
    override connect(): Promise<Socket> {
      return Promise.resolve(stream);
    }
  }
  const Connector = heardStreams(Given as NonNullable<RedisOptions["Connector"]>);
  expect(await new Connector({}).connect(() => {})).toBe(stream);
  expect(stream.destroyed).toBe(false);
  // A TLS stream reports an alert after its handshake like this, and stays open.
  stream.emit("error", new Error("alert"));
  expect(stream.destroyed).toBe(true);
  stream.emit("error", new Error("reset"));
});
