import { InvalidArgumentError, type Runtime } from "@holdfast/core";
import { addressText } from "@holdfast/core/internal";
import { Dialer } from "../client/dialer.js";
import { type Client, createLibraryClient, managerOf } from "../client/library.js";
import { Link } from "../client/link.js";
import { LinkedSession } from "./linked-session.js";
import { checkBasics, checkSessionOptions, type SessionBasics, type SessionOptions } from "./options.js";
import type { ZooKeeperSession } from "./types.js";

/**
 * Opens a session, which connects in the background: `whenConnected()` waits for it. Throws `InvalidArgumentError` or
 * `UnsupportedError` at once for options that cannot work.
 */
export function openSession(options: SessionOptions): ZooKeeperSession {
  checkSessionOptions(options);
  const servers = shuffled(options.servers, options.runtime);
  const client = createLibraryClient(servers, options.sessionTimeoutMs);
  for (const { scheme, auth } of options.auth ?? [])
    client.addAuthInfo(scheme, Buffer.from(auth as Uint8Array));
  const { tls, runtime, turnMs } = options;
  const link = new Link(client, new Dialer(servers, tls, runtime), runtime, turnMs);
  const session = new LinkedSession({ ...options, link, servers: servers.map(addressText), owned: true });
  session.start();
  return session;
}

interface Adoption {
  readonly link: Link;
  taken: boolean;
}

/** Hooks stay on a client for good. A second session over the same client finds them here. */
const adopted = new WeakMap<Client, Adoption>();

/** Marks the manager of a client that has hooks, also for other copies of this package, which have maps of their own. */
const hooked: symbol = Symbol.for("@holdfast/zk-recipes: hooked");

/**
 * A session over a user's own client of node-zookeeper-client 1.1.3, connected or not, with the same hardening. The
 * client is not closed here. If it is connected it reconnects once, and its own requests and watches go on working.
 *
 * The client's chroot applies to the client's own requests alone. Paths of the session are the server's, and
 * `resolveOptions` puts the chroot in front of the provider's paths.
 *
 * When the lease ends, this session is lost for good, even if the client reconnects in time. Ephemeral nodes that are
 * left when the session is over are deleted one by one as soon as the client is connected. After that the client can be
 * adopted again.
 *
 * Throws `InvalidArgumentError` for anything but such a client, while another session has the client, and for a client that
 * another copy of this package has ever adopted: the hooks of both would take each frame twice.
 */
export function adoptSession(client: Client, options: SessionBasics): ZooKeeperSession {
  checkBasics(options);
  const manager = managerOf(client);
  let adoption = adopted.get(client);
  if (adoption?.taken === true) {
    throw new InvalidArgumentError(
      "client is in use by another provider: close that one first, or give each its own client. A provider that was closed without contact has its client until that is connected again and the nodes that were left are deleted",
    );
  }
  if (adoption === undefined) {
    if (Object.hasOwn(manager, hooked)) {
      throw new InvalidArgumentError(
        "client is in use by another copy of @holdfast/zk-recipes, whose handlers stay in it for good: give each copy its own client, or install one copy only",
      );
    }
    Object.defineProperty(manager, hooked, { value: true });
    adoption = { link: new Link(client, null, options.runtime), taken: false };
    adopted.set(client, adoption);
  }
  const taken = adoption;
  taken.taken = true;
  taken.link.pace?.begin();
  const session = new LinkedSession({
    ...options,
    link: taken.link,
    servers: manager.servers.map(addressText),
    owned: false,
    released: () => {
      taken.taken = false;
      taken.link.pace?.end();
    },
  });
  session.start();
  return session;
}

/** In random order, so that a fleet of clients spreads over the ensemble. */
function shuffled<T>(items: readonly T[], runtime: Runtime): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(runtime.random() * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
