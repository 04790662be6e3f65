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
    // A client that is disconnected in the turn in which it was made opens no connection.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    if (!this.connecting) throw new Error("Connection is closed.");
    const given = Object.entries(path ? { path } : { host, port, family });
    const where = Object.fromEntries(
      given.filter(([, value]) => value != null),
    ) as unknown as TcpNetConnectOpts;
    this.stream = tls ? connectTls({ ...where, ...tls }) : connectTcp(where);
    // ioredis reports it where the stream is over before ioredis has it.
    this.stream.on("error", (error) => {
      this.firstError = error;
    });
    return this.stream;
  }
}

/**
 * The option `Connector` of each client of ours: it connects as the other options say, each stream has an error listener for all of its
 * life, and an error ends its stream. ioredis 6.0.0 listens to a stream for one error alone, and a TLS stream can have two: that the
 * certificate is not trusted, and the alert of a server that met the end of our bytes in the middle of the handshake. The second one,
 * without a listener, ends the process. Nor does a TLS stream end by itself when it has read an alert: nothing comes on it any more, and
 * the client would wait for `socketTimeout`. A client reports only the first error of each stream.
 *
 * `own`: the same option of a client that is its user's.
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

/** A client of ours that connects to where `base`, which may be a user's, connects to, and writes in the same database. */
export function copyOf(base: Redis, settings: Omit<RedisOptions, "replyMapping">): Redis {
  const own = { Connector: heardStreams(base.options.Connector), db: selectedDb(base) };
  return base.duplicate({ ...settings, ...own } as RedisOptions);
}
