import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { ResourceAnswer, ResourceRequest } from "../engine/resource.js";

type Question = ResourceRequest extends infer Each
  ? Each extends { id: number }
    ? Omit<Each, "id">
    : never
  : never;

interface Asked {
  readonly resolve: (answer: ResourceAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A worker's connection to the protected resource. No fault affects it. If it breaks, the runner is gone, and `ask`
 * rejects. It keeps the process alive only while an answer is awaited, so a service ends by itself as it does elsewhere.
 */
export class ResourceClient {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Asked>();
  #last = 0;
  #over: Error | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the protected resource is gone")));
    const lines = createInterface({ input: socket });
    lines.on("line", (line) => {
      const answer = JSON.parse(line) as ResourceAnswer;
      this.#pending.get(answer.id)?.resolve(answer);
      this.#pending.delete(answer.id);
      if (this.#pending.size === 0) socket.unref();
    });
    // readline passes on the errors of its input.
    lines.on("error", (error) => this.#end(error));
  }

  /** `address`: `host:port`. */
  static async open(address: string): Promise<ResourceClient> {
    const [host = "", port] = address.split(":");
    const socket = connect({ host, port: Number(port), noDelay: true });
    const client = new ResourceClient(socket);
    await once(socket, "connect");
    socket.unref();
    return client;
  }

  ask(request: Question): Promise<ResourceAnswer> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      if (this.#over !== null) {
        reject(this.#over);
        return;
      }
      this.#pending.set(id, { resolve, reject });
      this.#socket.ref();
      this.#socket.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #end(error: Error): void {
    this.#over ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#over);
    this.#pending.clear();
  }
}
