import { Socket } from "node:net";
import { type ConnectionOptions, connect, createSecureContext } from "node:tls";
import { InvalidArgumentError } from "@holdfast/core";
import { checkObject, checkString, messageOf } from "@holdfast/core/internal";

/** Reads all TLS options once, as each connection does later. Throws `InvalidArgumentError`, which names `what`. */
export function checkTls(what: string, tls: ConnectionOptions | undefined): void {
  checkObject(what, tls);
  try {
    if (tls !== undefined) createSecureContext(checked({ ...tls }));
  } catch (cause) {
    throw new InvalidArgumentError(`${what}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Opens a TLS socket. The options are read for each socket, so that a certificate may be changed in place. An option that
 * is wrong at that moment, such as a half-written file, ends this attempt alone.
 */
export function tlsSocket(options: () => ConnectionOptions): Socket {
  try {
    return connect(checked(options()));
  } catch (cause) {
    return new Socket().destroy(new Error(`option tls: ${messageOf(cause)}`, { cause }));
  }
}

/**
 * Node.js refuses a server name that is no string only when the socket connects already. Its caller then has no socket to
 * close, and no listener for the socket's error.
 */
function checked(options: ConnectionOptions): ConnectionOptions {
  checkString("servername", options.servername);
  return options;
}
