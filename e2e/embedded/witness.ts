import { openAcl, passwordLength } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { RawClient } from "../protocol/raw-client.js";

const ephemeral = 1;

/**
 * A correct client beside others that send garbage. It writes, reads back and gets the events of a watch, on one
 * connection and in one session from beginning to end.
 */
export class Witness {
  readonly #client: RawClient;
  #writes = 0;

  private constructor(client: RawClient) {
    this.#client = client;
  }

  static async open(port: number, timeoutMs = 10_000): Promise<Witness> {
    const client = await RawClient.open(port, { timeoutMs, password: new Uint8Array(passwordLength) });
    const witness = new Witness(client);
    for (const [path, flags] of [
      ["/witness", 0],
      ["/witness/mine", ephemeral],
    ] as const) {
      const { header } = await client.send("create", { path, data: null, acl: openAcl, flags });
      expect(header.err).toBe(0);
    }
    return witness;
  }

  /** Fails unless a write, its event and a read come back in order, and the nodes are as this client left them. */
  async look(): Promise<void> {
    const { events } = this.#client;
    const before = events.length;
    const data = Buffer.from(String(++this.#writes));
    const [, written, read, mine] = await Promise.all([
      this.#client.send("getData", { path: "/witness", watch: true }),
      this.#client.send("setData", { path: "/witness", data, version: this.#writes - 1 }),
      this.#client.send("getData", { path: "/witness", watch: false }),
      this.#client.send("exists", { path: "/witness/mine", watch: false }),
    ]);
    // The version is right only if no other client has written.
    expect([written.header.err, read.header.err, mine.header.err]).toEqual([0, 0, 0]);
    expect(Buffer.from(read.response?.data ?? [])).toEqual(data);
    expect(events.slice(before)).toMatchObject([{ type: "data-changed", path: "/witness" }]);
  }

  async ping(): Promise<void> {
    await this.#client.send("ping", undefined);
  }

  close(): void {
    this.#client.destroy();
  }
}
