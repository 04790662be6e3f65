import {
  BackendError,
  type Millis,
  ProviderClosedError,
  type Runtime,
  type SessionState,
} from "@holdfast/core";
import type { BackendLink } from "@holdfast/core/internal";
import { SessionLostError } from "../session/errors.js";
import type { ZooKeeperSession } from "../session/types.js";
import { SessionContext } from "./session-context.js";

export interface SessionSequenceOptions {
  readonly runtime: Runtime;
  readonly connectTimeoutMs: Millis;
  /** Opens the next session. */
  open(): ZooKeeperSession;
  /** `false` for a client of the user's own: its session has no successor. */
  readonly renewable: boolean;
  /** See `SessionContext.watchesUnread`. */
  readonly watchesUnread: boolean;
  onState(session: ZooKeeperSession, state: SessionState): void;
}

/** The provider's sessions, one after the other. When one is lost, the next is opened at once. */
export class SessionSequence implements BackendLink {
  /** The context of the present session. */
  context: SessionContext;
  readonly #options: SessionSequenceOptions;
  #closed = false;

  constructor(options: SessionSequenceOptions) {
    this.#options = options;
    this.context = this.#openContext();
  }

  get state(): SessionState {
    const { state } = this.context.session;
    return state === "closed" ? "lost" : state;
  }

  async whenConnected(options: { waitMs?: Millis; signal?: AbortSignal } = {}): Promise<void> {
    const { runtime } = this.#options;
    const untilMs = runtime.nowMs() + (options.waitMs ?? this.#options.connectTimeoutMs);
    for (;;) {
      if (this.#closed) throw new ProviderClosedError("the provider was closed", { backend: "zookeeper" });
      const { session } = this.context;
      const waitMs = Math.max(0, untilMs - runtime.nowMs());
      try {
        return await session.whenConnected({ ...options, waitMs });
      } catch (error) {
        if (!(error instanceof SessionLostError)) throw error;
        // After `close()` the next pass of this loop throws that.
        if (session === this.context.session && !this.#closed) throw this.#endError(session, error);
      }
    }
  }

  async close(waitMs: Millis): Promise<void> {
    this.#closed = true;
    // A session over a user's own client is released as well; the client itself stays open.
    await this.context.session.close({ waitMs });
  }

  #openContext(): SessionContext {
    const session = this.#options.open();
    // This listens before the context does. When the loss makes an attempt go on, the next session is already in place.
    session.onState((state) => {
      const renewable = !this.#closed && this.#options.renewable && session.lossReason !== "auth";
      if (state === "lost" && renewable) this.context = this.#openContext();
    });
    const context = new SessionContext(session, this.#options.runtime, this.#options.watchesUnread);
    // This listens after the context does. A listener that then looks at a handle finds the new state there too.
    session.onState((state) => {
      if (state !== "closed") this.#options.onState(session, state);
    });
    return context;
  }

  #endError(session: ZooKeeperSession, cause: Error): BackendError {
    const why =
      session.lossReason === "auth"
        ? "the server refused the credentials of option auth"
        : "the session of the given client is over, and only its owner can open another: make a new client and a new provider, or give option connect instead of client";
    return new BackendError(why, { cause, backend: "zookeeper", servers: session.servers, retryable: false });
  }
}
