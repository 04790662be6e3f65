import { Socket } from "node:net";
import { runProgram } from "../machine/run-program.js";
import { ownNetwork } from "./namespace.js";

/** How a runner got its own network and mounts: inside a user namespace of its own, or as root without one. */
export type NamespaceKind = "userns" | "netns";

/**
 * The variable that a runner sets for the runner that it starts inside: the kind, the outer network, and the descriptor
 * of the pipe between the two.
 */
const variable = "HOLDFAST_CHAOS_INSIDE";

/** How long the inner runner may take to clean up after the outer one is gone. */
const cleanUpWithinMs = 15_000;

export function insideWord(kind: NamespaceKind, tether: number): Record<string, string> {
  return { [variable]: `${kind} ${ownNetwork()} ${tether}` };
}

function told(): { kind: NamespaceKind; outside: string; tether: number } | undefined {
  const [kind, outside, tether] = process.env[variable]?.split(" ") ?? [];
  if ((kind !== "userns" && kind !== "netns") || outside === undefined) return undefined;
  return { kind, outside, tether: Number(tether) };
}

/** The kind of namespaces in which this process is; undefined if it is in those of the machine. */
export function insideNamespaces(): NamespaceKind | undefined {
  const word = told();
  // An inherited variable alone proves nothing: the network must also be a different one.
  return word !== undefined && word.outside !== ownNetwork() ? word.kind : undefined;
}

/** @throws Error outside of the namespaces, where the action would affect the machine itself. */
export function requireInside(what: string): void {
  if (insideNamespaces() === undefined) {
    throw new Error(`${what} needs namespaces of the runner's own; the machine itself is never touched`);
  }
}

let settled = false;

/**
 * Must be called first by a runner that was started inside. It sets up the loopback of the network. It also ends this
 * runner when the outer one is gone for whatever reason: by SIGTERM to itself, later by SIGKILL. Does nothing outside.
 */
export async function settleInside(): Promise<void> {
  const word = told();
  if (settled || word === undefined || insideNamespaces() === undefined) return;
  settled = true;
  watchTether(word.tether);
  await runProgram("ip", ["link", "set", "lo", "up"]);
}

function watchTether(descriptor: number): void {
  const tether = new Socket({ fd: descriptor, readable: true, writable: false });
  const gone = (): void => {
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => process.kill(process.pid, "SIGKILL"), cleanUpWithinMs).unref();
  };
  tether.on("error", () => {});
  tether.once("close", gone);
  tether.resume();
  tether.unref();
}
