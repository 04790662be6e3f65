import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestServerError } from "./errors.js";

// The range lies below the kernel's range for outgoing connections (32768 and up on Linux). A port that the kernel
// chooses could be taken by any client socket between our check and the server's bind, or while a killed server
// restarts.
const lowest = 10_240;
const highest = 32_767;
const attempts = 1_000;

const mine = new Set<number>();

/**
 * Gives a TCP port on 127.0.0.1 that is free now and stays reserved as long as this process lives.
 *
 * One process never gets a port twice. Processes that use this function avoid each other's ports by marker files in the
 * temporary folder. So a server can be killed and restarted on its port while others start.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest + 1));
    if (mine.has(port) || !claim(port)) continue;
    mine.add(port);
    // A port that another program uses keeps its marker, so that it is not tried again.
    if (await canBind(port)) return port;
  }
  throw new TestServerError(`no free port between ${lowest} and ${highest} in ${attempts} attempts`);
}

/** Calls `freePort` several times. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

let folder: string | undefined;

function markers(): string {
  if (folder === undefined) {
    folder = join(tmpdir(), `holdfast-ports-${process.getuid?.() ?? "user"}`);
    mkdirSync(folder, { recursive: true });
    sweep(folder);
    process.on("exit", () => {
      for (const port of mine) rmSync(join(markers(), String(port)), { force: true });
    });
  }
  return folder;
}

function claim(port: number): boolean {
  try {
    writeFileSync(join(markers(), String(port)), String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes the markers of processes that were killed. */
function sweep(path: string): void {
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    let pid: number;
    try {
      pid = Number(readFileSync(file, "utf8"));
    } catch {
      continue; // removed by its owner meanwhile
    }
    // An empty file is a marker that is being written at this moment.
    if (pid > 0 && !isAlive(pid)) rmSync(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host: "127.0.0.1", port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
