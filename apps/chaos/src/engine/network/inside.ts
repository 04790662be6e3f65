import { Socket } from "node:net";
import { runProgram } from "../machine/run-program.js";
import { ownNetwork } from "./namespace.js";

/** How a runner got its own network and mounts: inside a user namespace of its own, or as root without one. */
export type NamespaceKind = "userns" | "netns";

/** The variable that a runner gives to one that it starts: kind, network of the one outside, descriptor of the pipe to it. */
const variable = "HOLDFAST_CHAOS_INSIDE";

/** How long a runner may take to clean up after the one outside is gone. */
const cleanUpWithinMs = 15_000;

export function insideWord(kind: NamespaceKind, tether: number): Record<string, string> {
  return { [variable]: `${kind} ${ownNetwork()} ${tether}` };
}

function told(): { kind: NamespaceKind; outside: string; tether: number } | undefined {
  const [kind, outside, tether] = process.env[variable]?.split(" ") ?? [];
  if ((kind !== "userns" && kind !== "netns") || outside === undefined) return undefined;
  return { kind, outside, tether: Number(tether) };
}

/** The namespaces that this process is in; undefined when it is in those of the machine. */
export function insideNamespaces(): NamespaceKind | undefined {
  const word = told();
  // A word that was inherited from elsewhere proves nothing: the network must be another one.
  return word !== undefined && word.outside !== ownNetwork() ? word.kind : undefined;
}

/** @throws Error outside: whatever needs namespaces would act on the machine itself. */
export function requireInside(what: string): void {
  if (insideNamespaces() === undefined) {
    throw new Error(`${what} needs namespaces of the runner's own; the machine itself is never touched`);
  }
}

let settled = false;

/**
 * To be called first by a runner that was started inside: its network gets a loopback, and it ends (by SIGTERM to itself,
 * later by SIGKILL) when the one outside is gone, however that one went. Does nothing outside.
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
