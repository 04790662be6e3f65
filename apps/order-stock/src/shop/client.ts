import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Sale, ShopAnswers, ShopReport, ShopRequest } from "./protocol.js";

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A customer of the shop. Every request is answered, or rejects when the connection ends. */
export class ShopClient {
  readonly #socket: Socket;
  readonly #pending: Pending[] = [];
  #ended: Error | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the shop has hung up")));
    const lines = createInterface({ input: socket });
    lines.on("line", (line) => this.#pending.shift()?.resolve(JSON.parse(line)));
    // readline passes on the errors of its input.
    lines.on("error", (error) => this.#end(error));
  }

  static async connect(port: number): Promise<ShopClient> {
    const socket = connect({ host: "127.0.0.1", port });
    const client = new ShopClient(socket);
    await once(socket, "connect");
    return client;
  }

  async restock(items: number): Promise<void> {
    await this.#ask({ op: "restock", items });
  }

  look(): Promise<number> {
    return this.#ask({ op: "look" });
  }

  sell(buyer: string, token: bigint | null): Promise<Sale> {
    return this.#ask({ op: "sell", buyer, token: token?.toString() ?? null });
  }

  report(): Promise<ShopReport> {
    return this.#ask({ op: "report" });
  }

  close(): void {
    this.#socket.destroy();
  }

  #ask<R extends ShopRequest>(request: R): Promise<ShopAnswers[R["op"]]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended);
        return;
      }
      this.#pending.push({ resolve: resolve as (answer: unknown) => void, reject });
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const pending of this.#pending.splice(0)) pending.reject(this.#ended);
  }
}
