import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, Server as TlsServer } from "node:tls";

const info = [
  "run_id:0123456789012345678901234567890123456789",
  "role:master",
  "redis_version:7.2.0",
  "loading:0",
  "connected_slaves:1",
  "slave0:ip=127.0.0.1,port=1,state=online,offset=1,lag=0",
].join("\r\n");

/**
 * Gives the answers that a client of Redis, of a sentinel or of a cluster node needs until it serves, and `1` to any other
 * command. It names itself as the master and as the only node, with `publicPort`.
 */
export class FakeRedis {
  /** The port that it names to clients. Default: its own port. */
  publicPort: number;
  readonly #listener: Server;

  private constructor(listener: Server) {
    this.#listener = listener;
    this.publicPort = this.port;
    listener.on(listener instanceof TlsServer ? "secureConnection" : "connection", (socket) =>
      this.#serve(socket),
    );
  }

  static async open(tls?: { readonly cert: string; readonly key: string }): Promise<FakeRedis> {
    const listener = tls === undefined ? createServer() : createTlsServer(tls);
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new FakeRedis(listener);
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #serve(socket: Socket): void {
    let text = "";
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      for (let next = take(text); next !== null; next = take(text)) {
        text = text.slice(next.length);
        const [name = "", ...words] = next.words;
        socket.write(answer(name.toLowerCase(), words, this.publicPort));
      }
    });
  }
}

function answer(name: string, words: readonly string[], port: number): string {
  const [first = ""] = words;
  switch (name) {
    case "hello":
      return "-NOPROTO unsupported protocol version\r\n";
    case "auth":
    case "client":
    case "readonly":
    case "multi":
      return "+OK\r\n";
    case "ping":
      return "+PONG\r\n";
    case "info":
      return bulk(info);
    case "cluster":
      return first.toLowerCase() === "slots"
        ? `*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n${bulk("127.0.0.1")}:${port}\r\n${bulk("a".repeat(40))}`
        : bulk("cluster_state:ok\r\n");
    case "sentinel":
      return first.toLowerCase() === "get-master-addr-by-name"
        ? `*2\r\n${bulk("127.0.0.1")}${bulk(String(port))}`
        : "*0\r\n";
    case "subscribe":
    case "ssubscribe":
      return words.map((channel, at) => `*3\r\n${bulk(name)}${bulk(channel)}:${at + 1}\r\n`).join("");
    case "scan":
      return `*2\r\n${bulk("0")}*0\r\n`;
    case "exec":
      return "*0\r\n";
    default:
      return ":1\r\n";
  }
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

/** Reads the first whole command of `text`; `null` if there is none. */
function take(text: string): { readonly words: readonly string[]; readonly length: number } | null {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return null;
  let at = head[0].length;
  const words: string[] = [];
  for (let left = Number(head[1]); left > 0; left--) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 16));
    if (size === null) return null;
    const from = at + size[0].length;
    at = from + Number(size[1]) + 2;
    if (text.length < at) return null;
    words.push(text.slice(from, at - 2));
  }
  return { words, length: at };
}
