import { isIPv6 } from "node:net";
import { InvalidArgumentError } from "@holdfast/core";
import { InvalidPathError, validatePath } from "@holdfast/zk-protocol";
import type { ServerAddress } from "../client/library.js";

const defaultPort = 2181;

export interface ConnectString {
  readonly servers: readonly ServerAddress[];
  /** `""` when there is none; it never ends in a slash. The session does not use it: callers put it in front of their paths. */
  readonly chroot: string;
}

/**
 * Parses `h1:2181,h2,[::1]:2181/chroot` as ZooKeeper's own clients do: one chroot, behind the last server, and port 2181
 * if none is given. Spaces around servers are ignored. Throws `InvalidArgumentError`, which names the part that is wrong.
 */
export function parseConnectString(text: string): ConnectString {
  if (typeof text !== "string") throw invalid(String(text), "it must be a string");
  const scheme = /^\w+:\/\//.exec(text)?.[0];
  if (scheme !== undefined) throw invalid(text, `it is no URL: leave out ${JSON.stringify(scheme)}`);
  const slash = text.indexOf("/");
  const hosts = slash < 0 ? text : text.slice(0, slash);
  return {
    servers: hosts.split(",").map((part) => parseServer(part.trim(), text)),
    chroot: slash < 0 ? "" : parseChroot(text.slice(slash).trim(), text),
  };
}

function parseServer(part: string, text: string): ServerAddress {
  if (part === "") throw invalid(text, "a server is missing: give host or host:port, separated by commas");
  if (part.startsWith("[")) {
    const end = part.indexOf("]");
    const host = part.slice(1, end);
    const rest = part.slice(end + 1);
    if (end < 0 || !isIPv6(host))
      throw invalid(text, `${JSON.stringify(part)} is not an IPv6 address in brackets`);
    if (rest !== "" && !rest.startsWith(":"))
      throw invalid(text, `${JSON.stringify(rest)} behind "]" is not a port`);
    return { host, port: rest === "" ? defaultPort : parsePort(rest.slice(1), part, text) };
  }
  const [host = "", port, ...more] = part.split(":");
  if (more.length > 0) {
    throw invalid(
      text,
      `${JSON.stringify(part)} has more than one colon: IPv6 addresses go in brackets, [::1]:2181`,
    );
  }
  if (!/^[^\s/\\[\]@?#]+$/.test(host)) throw invalid(text, `${JSON.stringify(part)} names no host`);
  return { host, port: port === undefined ? defaultPort : parsePort(port, part, text) };
}

function parsePort(port: string, part: string, text: string): number {
  const number = Number(port);
  if (!/^\d{1,5}$/.test(port) || number < 1 || number > 65_535) {
    throw invalid(text, `the port of ${JSON.stringify(part)} must be a number from 1 to 65535`);
  }
  return number;
}

function parseChroot(chroot: string, text: string): string {
  if (chroot === "/") return "";
  if (chroot.includes(",")) {
    throw invalid(
      text,
      `the chroot ${JSON.stringify(chroot)} has a comma: one chroot follows the last server`,
    );
  }
  try {
    validatePath(chroot);
  } catch (error) {
    if (!(error instanceof InvalidPathError)) throw error;
    throw invalid(text, `the chroot ${error.message}`, error);
  }
  return chroot;
}

function invalid(text: string, why: string, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`connect string ${JSON.stringify(text)}: ${why}`, { cause });
}
