import { type ConnectResponse, encodeConnectRequest, encodeFrame } from "@holdfast/zk-protocol";
import type { ConnectionManager } from "./library.js";
import type { Outgoing } from "./outgoing.js";

/** The first messages on each connection: a request for a new session or for the present one, then the credentials. */
export class Handshake {
  readonly #manager: ConnectionManager;
  readonly #outgoing: Outgoing;
  #credentialsUnanswered = 0;

  constructor(manager: ConnectionManager, outgoing: Outgoing) {
    this.#manager = manager;
    this.#outgoing = outgoing;
  }

  /** The server has accepted all credentials on this connection, or there are none. */
  get settled(): boolean {
    return this.#credentialsUnanswered === 0;
  }

  begin(): void {
    const { zxid, sessionTimeout, sessionId, sessionPassword, socket } = this.#manager;
    const request = encodeConnectRequest({
      protocolVersion: 0,
      lastZxidSeen: zxid.readBigInt64BE(),
      timeoutMs: sessionTimeout,
      sessionId: sessionId.readBigInt64BE(),
      password: sessionPassword,
      readOnly: false,
    });
    socket?.write(encodeFrame(request));
  }

  /** The server has accepted the session. */
  complete({ sessionId, password, timeoutMs }: ConnectResponse): void {
    const manager = this.#manager;
    const id = Buffer.allocUnsafe(8);
    id.writeBigInt64BE(sessionId);
    manager.sessionId = id;
    manager.sessionPassword = Buffer.from(password);
    manager.updateTimeout(timeoutMs);
    manager.xid = 0; // no request is in flight, so no xid can be mistaken for another
    this.#credentialsUnanswered = manager.credentials.length;
  }

  sendCredentials(): void {
    for (const { scheme, auth } of this.#manager.credentials) this.#outgoing.auth(scheme, auth);
  }

  /** One of the credentials was accepted; `true` when it was the last. */
  accepted(): boolean {
    // There are more answers than requests of ours: the owner of an adopted client has added credentials of its own.
    if (this.settled) return false;
    this.#credentialsUnanswered -= 1;
    return this.settled;
  }
}
