import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { ResourceAnswer, ResourceRequest } from "../engine/resource.js";

type Asked = ResourceRequest extends infer Each
  ? Each extends { id: number }
    ? Omit<Each, "id">
    : never
  : never;

/** A worker's connection to the protected resource. It is past all faults: once it breaks, the runner is gone. */
export class ResourceClient {
  readonly #socket: Socket;
  readonly #pending = new Map<number, (answer: ResourceAnswer) => void>();
  #last = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    createInterface({ input: socket }).on("line", (line) => {
      const answer = JSON.parse(line) as ResourceAnswer;
      this.#pending.get(answer.id)?.(answer);
      this.#pending.delete(answer.id);
    });
  }

  /** `address`: `host:port`. */
  static open(address: string): Promise<ResourceClient> {
    const [host = "", port] = address.split(":");
    const socket = connect({ host, port: Number(port), noDelay: true });
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.once("connect", () => resolve(new ResourceClient(socket)));
    });
  }

  ask(request: Asked): Promise<ResourceAnswer> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      this.#socket.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
