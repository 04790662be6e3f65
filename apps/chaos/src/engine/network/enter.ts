import { spawn } from "node:child_process";
import { runProgram } from "../machine/run-program.js";
import { insideWord, type NamespaceKind } from "./inside.js";

const unshareFlags: Readonly<Record<NamespaceKind, readonly string[]>> = {
  userns: ["--user", "--map-root-user", "--net", "--mount"],
  netns: ["--net", "--mount"],
};

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The descriptor of the pipe, after those of input, output and errors. */
const tetherDescriptor = 3;

/** A command that runs `script` inside the namespaces, for probes. */
export function insideCommand(kind: NamespaceKind, script: string): [program: string, args: string[]] {
  return ["unshare", [...unshareFlags[kind], "--", "sh", "-euc", script]];
}

/**
 * The kind of namespaces that this machine allows; undefined if none. The harmless kind is tried first: inside a user
 * namespace even root has no power over the machine's clock, interfaces and mounts.
 */
export async function allowedNamespaces(wanted?: NamespaceKind): Promise<NamespaceKind | undefined> {
  const kinds: NamespaceKind[] = wanted !== undefined ? [wanted] : ["userns", "netns"];
  for (const kind of kinds) {
    try {
      await runProgram(...insideCommand(kind, "ip link set lo up"));
      return kind;
    } catch {
      // try the next kind
    }
  }
  return undefined;
}

/**
 * Runs a Node.js program (default: this process' own, with its arguments) with a network and mounts of its own.
 * Resolves with its exit code when it has ended. Everything that it makes there disappears with the last process
 * inside.
 *
 * SIGINT, SIGTERM and SIGHUP are passed on, once each. If this process is killed, the process inside notices it
 * (`settleInside`).
 *
 * @returns the exit code; 255 if it was ended by a signal.
 */
export function enterNamespaces(
  kind: NamespaceKind,
  command: readonly string[] = [...process.execArgv, ...process.argv.slice(1)],
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("unshare", [...unshareFlags[kind], "--", process.execPath, ...command], {
      // The child has a group of its own: an interrupt from a terminal reaches only this process, which passes it on.
      detached: true,
      env: { ...process.env, ...insideWord(kind, tetherDescriptor) },
      stdio: ["inherit", "inherit", "inherit", "pipe"],
    });
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
    for (const signal of forwarded) process.on(signal, pass);
    const done = (): void => {
      for (const signal of forwarded) process.off(signal, pass);
    };
    child.once("error", (error) => {
      done();
      reject(error);
    });
    child.once("exit", (code) => {
      done();
      resolve(code ?? 255);
    });
  });
}
