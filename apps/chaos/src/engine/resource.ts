import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Recorder } from "./recorder.js";

/** What a worker asks of the resource, one JSON object a line. */
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
      /** The resource looks at tokens: it refuses a lower one than it has seen, and none at all. */
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
 * What the locks are for: a number for each key, which holders read, raise by one and write back. It does what is asked, so
 * that two holders overwrite each other; a fenced write is refused when a higher token was seen. It lives in the
 * runner, past all faults, and each write is a record.
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
      // A killed worker's connection ends as it likes.
      socket.on("error", () => socket.destroy());
      const lines = createInterface({ input: socket });
      lines.on("line", (line) => {
        if (!socket.writable) return;
        const request = requestIn(line);
        // A request that cannot be read is answered with what is wrong in it, and the end of its connection makes the worker fail.
        if ("error" in request) socket.end(`${JSON.stringify(request)}\n`);
        else socket.write(`${JSON.stringify(cells.answer(request))}\n`);
      });
      // readline passes errors of its input on.
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
    // A read counts as seen, too: else a stale write could slip in between a newer holder's read and its write.
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
      // A read that was let in changes nothing; the worker of one that was refused would have written.
      if (!accepted) this.#recorder.record(about);
      return { id, accepted, value: cell.value };
    }
    const { read } = request;
    if (accepted) cell.value = read + 1;
    this.#recorder.record({ ...about, read, value: cell.value });
    return { id, accepted, value: cell.value };
  }
}
