import { expect, test } from "vitest";
import { ElectionProxy } from "../src/zookeeper/election-proxy.js";
import { PlainClient, startEchoServer } from "./support/echo-server.js";

/** The first bytes that a server of version 3.5 or later sends on a connection to a peer's election port. */
function hello(version: bigint, address: string): Buffer {
  const start = Buffer.alloc(20);
  start.writeBigInt64BE(version, 0);
  start.writeBigInt64BE(1n, 8);
  start.writeInt32BE(address.length, 16);
  return Buffer.concat([start, Buffer.from(address)]);
}

async function said(bytes: Buffer, callBackAt: string | undefined): Promise<string> {
  const echo = await startEchoServer();
  const proxy = await ElectionProxy.start({ target: { host: "127.0.0.1", port: echo.port } });
  proxy.callBackAt = callBackAt;
  const client = await PlainClient.connect(proxy.port);
  for (const byte of bytes) {
    client.socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  client.socket.end();
  await client.ends("fin");
  await proxy.close();
  await echo.close();
  return client.text;
}

test("the address to call back is replaced, and everything behind it stays, however it is chunked", async () => {
  for (const version of [-65_536n, -65_535n]) {
    const sent = Buffer.concat([hello(version, "127.0.0.1:2"), Buffer.from("a vote")]);
    const wanted = Buffer.concat([hello(version, "127.0.0.1:20000"), Buffer.from("a vote")]);
    expect(await said(sent, "127.0.0.1:20000")).toBe(wanted.toString());
  }
});

test("a greeting without an address, or with none to replace it, stays as it is", async () => {
  const old = Buffer.alloc(28, 1);
  expect(await said(old, "127.0.0.1:20000")).toBe(old.toString());
  const sent = hello(-65_536n, "127.0.0.1:2");
  expect(await said(sent, undefined)).toBe(sent.toString());
});

test("a connection that ends before its greeting is complete passes on what there was", async () => {
  const torn = hello(-65_536n, "127.0.0.1:2").subarray(0, 15);
  expect(await said(torn, "127.0.0.1:20000")).toBe(torn.toString());
});
