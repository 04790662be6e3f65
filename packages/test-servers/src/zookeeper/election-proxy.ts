import { freePort } from "../free-port.js";
import type { Link, LinkFilter } from "../proxy/link.js";
import type { StreamItem } from "../proxy/shaper.js";
import { type ProxyOptions, TcpProxy } from "../proxy/tcp-proxy.js";

const firstVersions: readonly bigint[] = [-65_536n, -65_535n];
// Version (8 bytes), server id (8 bytes) and the length of the address (4 bytes).
const headerBytes = 20;

/**
 * A proxy on the way of one server to the election port of another.
 *
 * A server begins such a connection with its own election address. A peer with a higher id hangs up and calls back at
 * that address, past all proxies. So the address is replaced by that of the proxy for the way back.
 */
export class ElectionProxy extends TcpProxy {
  /** The `host:port` that the far server shall call back. While this is undefined, the address stays as it was sent. */
  callBackAt: string | undefined;

  static override async start(options: ProxyOptions): Promise<ElectionProxy> {
    const proxy = new ElectionProxy(options, options.port ?? (await freePort()));
    await proxy.listen();
    return proxy;
  }

  protected override filterFor(link: Link): LinkFilter {
    return new AddressFilter(link, () => this.callBackAt);
  }
}

class AddressFilter implements LinkFilter {
  readonly #link: Link;
  readonly #address: () => string | undefined;
  #start: Buffer | undefined = Buffer.alloc(0);

  constructor(link: Link, address: () => string | undefined) {
    this.#link = link;
    this.#address = address;
  }

  up(item: StreamItem): void {
    if (typeof item === "string") {
      if (this.#start !== undefined && this.#start.length > 0) this.#link.toServer(this.#start);
      this.#start = undefined;
      this.#link.toServer(item);
      return;
    }
    if (this.#start === undefined) {
      this.#link.toServer(item);
      return;
    }
    this.#start = Buffer.concat([this.#start, item]);
    const rewritten = rewrite(this.#start, this.#address());
    if (rewritten === undefined) return;
    this.#start = undefined;
    this.#link.toServer(rewritten);
  }

  down(item: StreamItem): void {
    this.#link.toClient(item);
  }
}

/** The start of the stream with the address replaced; undefined until all of it has arrived. */
function rewrite(start: Buffer, address: string | undefined): Buffer | undefined {
  if (start.length < headerBytes) return undefined;
  // Older servers begin with their id alone: there is no address to replace.
  if (address === undefined || !firstVersions.includes(start.readBigInt64BE(0))) return start;
  const end = headerBytes + start.readInt32BE(16);
  if (start.length < end) return undefined;
  const text = Buffer.from(address, "utf8");
  const header = Buffer.from(start.subarray(0, headerBytes));
  header.writeInt32BE(text.length, 16);
  return Buffer.concat([header, text, start.subarray(end)]);
}
