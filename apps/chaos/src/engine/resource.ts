import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Recorder } from "./recorder.js";

/** A request of a worker to the resource, one JSON object a line. */
export type ResourceRequest =
  | {
      readonly id: number;
      readonly do: "read";
      readonly key: string;
      readonly hold: string;
      readonly token?: string;
      readonly fenced: boolean;
    }
  | {
      readonly id: number;
      readonly do: "write";
      readonly key: string;
      readonly hold: string;
      readonly read: number;
      readonly token?: string;
      /**
       * Whether the resource checks tokens. It then refuses a token lower than one that it has seen, and a request
       * without a token.
       */
      readonly fenced: boolean;
    };

export interface ResourceAnswer {
  readonly id: number;
  readonly accepted: boolean;
  readonly value: number;
}

interface Cell {
  value: number;
  highest: bigint;
}

/**
 * The resource that the locks protect: a number for each key, which holders read, raise by one and write back. It does
 * what is asked, so two holders at once overwrite each other. A fenced write is refused if a higher token was seen. It
 * lives in the runner, where no fault reaches it, and records each write.
 */
export class ProtectedResource {
  /** `host:port`. */
  readonly address: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    const { address, port } = server.address() as AddressInfo;
    this.address = `${address}:${port}`;
    this.#server = server;
  }

  static async open(recorder: Pick<Recorder, "record">): Promise<ProtectedResource> {
    const cells = new Cells(recorder);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: "127.0.0.1", port: 0 }, resolve);
    });
    const resource = new ProtectedResource(server);
    server.on("connection", (socket) => {
      resource.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("close", () => resource.#sockets.delete(socket));
      // The connection of a killed worker may end with an error.
      socket.on("error", () => socket.destroy());
      const lines = createInterface({ input: socket });
      lines.on("line", (line) => {
        if (!socket.writable) return;
        const request = requestIn(line);
        // A request that cannot be read is answered with the error. The end of the connection then makes the worker fail.
        if ("error" in request) socket.end(`${JSON.stringify(request)}\n`);
        else socket.write(`${JSON.stringify(cells.answer(request))}\n`);
      });
      // readline passes on the errors of its input.
      lines.on("error", () => socket.destroy());
    });
    return resource;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function requestIn(line: string): ResourceRequest | { readonly error: string } {
  try {
    const request = JSON.parse(line) as ResourceRequest | null;
    if (typeof request !== "object" || request === null || (request.do !== "read" && request.do !== "write"))
      throw new Error('a request is a JSON object whose "do" is read or write');
    for (const name of ["key", "hold"] as const)
      if (typeof request[name] !== "string" || request[name] === "")
        throw new Error(`a ${request.do} needs "${name}", a text`);
    if (request.do === "write" && !Number.isSafeInteger(request.read))
      throw new Error('a write needs "read", the whole number that was read');
    if (request.token !== undefined) BigInt(request.token);
    return request;
  } catch (error) {
    return { error: `${(error as Error).message}: ${line.slice(0, 200)}` };
  }
}

export class Cells {
  readonly #cells = new Map<string, Cell>();
  readonly #recorder: Pick<Recorder, "record">;

  constructor(recorder: Pick<Recorder, "record">) {
    this.#recorder = recorder;
  }

  answer(request: ResourceRequest): ResourceAnswer {
    const { id, key } = request;
    let cell = this.#cells.get(key);
    if (cell === undefined) {
      cell = { value: 0, highest: -1n };
      this.#cells.set(key, cell);
    }
    const { token } = request;
    const current = token === undefined ? null : BigInt(token);
    const accepted = !request.fenced || (current !== null && current >= cell.highest);
    // A read also raises the highest token. Otherwise a stale write could slip in between a newer holder's read and its write.
    if (accepted && request.fenced && current !== null) cell.highest = current;
    const { hold } = request;
    const about = {
      type: "effect",
      p: "resource",
      key,
      hold,
      accepted,
      ...(token === undefined ? {} : { token }),
    } as const;
    if (request.do === "read") {
      // An accepted read changes nothing, so only a refused one is recorded: its worker would have written.
      if (!accepted) this.#recorder.record(about);
      return { id, accepted, value: cell.value };
    }
    const { read } = request;
    if (accepted) cell.value = read + 1;
    this.#recorder.record({ ...about, read, value: cell.value });
    return { id, accepted, value: cell.value };
  }
}
