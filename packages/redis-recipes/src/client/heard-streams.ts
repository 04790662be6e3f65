import { connect as connectTcp, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, type Redis, type RedisOptions } from "ioredis";
import { selectedDb } from "./ioredis-words.js";
import { QuietSentinels } from "./quiet-sentinels.js";

type Connector = NonNullable<RedisOptions["Connector"]>;

/** Connects to the one server that the options of a client name. */
class OneServer extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: RedisOptions) {
    super(options.disconnectTimeout ?? 2_000);
    this.#options = options;
  }

  override async connect(): ReturnType<AbstractConnector["connect"]> {
    const { path, host, port, family, tls } = this.#options;
    this.connecting = true;
    // Wait for the next tick, so that a client which is disconnected in the turn in which it was made opens no connection.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (!this.connecting) throw new Error("Connection is closed.");
    const given = Object.entries(path ? { path } : { host, port, family });
    const where = Object.fromEntries(
      given.filter(([, value]) => value != null),
    ) as unknown as TcpNetConnectOpts;
    this.stream = tls ? connectTls({ ...where, ...tls }) : connectTcp(where);
    // ioredis reports `firstError` when the stream fails before ioredis has received it.
    this.stream.on("error", (error) => {
      this.firstError = error;
    });
    return this.stream;
  }
}

/**
 * Makes the option `Connector` for each of our clients. It connects as the other options say. It gives each stream an error
 * listener for the stream's whole life, and destroys the stream on an error.
 *
 * ioredis 6.0.0 listens to a stream for a single error, but a TLS stream can emit two: first that the certificate is not trusted,
 * then the alert of a server that saw our side close in the middle of the handshake. Without a listener the second one would end
 * the process. A TLS stream also does not end by itself after it has read an alert: no more data comes, and the client would wait
 * for `socketTimeout`. A client reports only the first error of each stream.
 *
 * `own`: the `Connector` option of a user's client.
 */
export function heardStreams(own: Connector | undefined): Connector {
  return class {
    constructor(options: RedisOptions) {
      const Kind = own ?? (Array.isArray(options.sentinels) ? QuietSentinels : OneServer);
      const connector: AbstractConnector = new (Kind as Connector)(options);
      const connect = connector.connect.bind(connector);
      connector.connect = async (emit) => {
        const stream = await connect(emit);
        stream.on("error", () => stream.destroy());
        return stream;
      };
      // biome-ignore lint/correctness/noConstructorReturn: which kind it is depends on the options of the client.
      return connector;
    }
  } as unknown as Connector;
}

/** A client of ours that connects to the same server as `base`, which may be a user's client, and writes in the same database. */
export function copyOf(base: Redis, settings: Omit<RedisOptions, "replyMapping">): Redis {
  const own = { Connector: heardStreams(base.options.Connector), db: selectedDb(base) };
  return base.duplicate({ ...settings, ...own } as RedisOptions);
}
