import { messageOf } from "@holdfast/core/internal";
import type { WatcherEvent } from "@holdfast/zk-protocol";
import { openSession, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import type { Settings } from "./options.js";

export interface WatchingListener {
  /**
   * There is a connection, of this session or of the next one, on which no watch of ours stands yet. `why`: `null` for the
   * very first.
   */
  fresh(session: ZooKeeperSession, why: "reconnected" | "new-session" | null): void;
  /** Contact is lost or doubtful, so what is in memory becomes outdated. */
  away(): void;
  /** Contact was only in doubt: the connection is the same, and no event was missed. */
  back(): void;
  event(event: WatcherEvent): void;
  /** No server has been reached so far, for the reason `why`. The session goes on trying. */
  unreached(why: string): void;
  /** No session can be opened any more, because the credentials were refused. */
  refused(): void;
}

const reachedWithinMs = 5_000;
/** A burst of events must not keep the rest of the process waiting. */
const turnMs = 10;

/** Keeps a session for the collector, and opens the next one when it is lost. It makes no nodes and sets no one-shot watch. */
export class WatchingSession {
  readonly #settings: Settings;
  readonly #listener: WatchingListener;
  #session: ZooKeeperSession;
  /** The connection that watches were last set on. */
  #served = 0;
  /** Whether a session before the present one was connected. */
  #followed = false;
  #closed = false;

  constructor(settings: Settings, listener: WatchingListener) {
    this.#settings = settings;
    this.#listener = listener;
    this.#session = this.#open();
  }

  get session(): ZooKeeperSession {
    return this.#session;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#session.close();
  }

  #open(): ZooKeeperSession {
    const { connect, auth, tls, sessionTimeoutMs, runtime } = this.#settings;
    this.#followed ||= this.#served > 0;
    this.#served = 0;
    const session = openSession({
      servers: connect.servers,
      sessionTimeoutMs,
      auth,
      tls,
      runtime,
      turnMs,
      onWatchEvent: (event) => {
        if (session === this.#session) this.#listener.event(event);
      },
    });
    session.onState((state) => {
      if (this.#closed || session !== this.#session) return;
      if (state === "connected") this.#connected(session);
      else this.#listener.away();
      if (state !== "lost") return;
      if (session.lossReason === "auth") this.#listener.refused();
      else this.#session = this.#open();
    });
    // A session that never connects changes no state: only this wait notices the trouble.
    session.whenConnected({ waitMs: reachedWithinMs }).catch((error: unknown) => {
      if (this.#closed || session !== this.#session || session.state === "connected") return;
      this.#listener.unreached(messageOf(error));
    });
    return session;
  }

  #connected(session: ZooKeeperSession): void {
    if (session.connection === this.#served) return this.#listener.back();
    const why = this.#served > 0 ? "reconnected" : this.#followed ? "new-session" : null;
    this.#served = session.connection;
    this.#listener.fresh(session, why);
  }
}
