/**
 * A process that contends, steered by lines like `Peer.java`: `connect <connectString> <sessionTimeoutMs>`, `contend <path>
 * <counterFile> <logFile> <grants> <label>`, `close`. It ends with its stdin. Started by `contender-process.ts`.
 */
import { createInterface } from "node:readline";
import type { LockProvider } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { contend } from "./contend.js";

let locks: LockProvider | undefined;

async function run(command: string, args: readonly string[]): Promise<void> {
  if (command === "connect") {
    const [connect = "", sessionTimeoutMs = ""] = args;
    locks = zookeeperLocks({ connect, sessionTimeoutMs: Number(sessionTimeoutMs) });
    return await locks.ready();
  }
  if (locks === undefined) throw new Error(`${command} before connect`);
  if (command === "contend") {
    const [path = "", counterFile = "", logFile = "", grants = "", label = ""] = args;
    return await contend(locks, { path, counterFile, logFile, grants: Number(grants), label });
  }
  if (command === "close") return void (await locks.close());
  throw new Error(`no such command: ${command}`);
}

function print(words: readonly string[]): void {
  process.stdout.write(`${words.map(encodeURIComponent).join(" ")}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [id = "", command = "", ...args] = line.split(" ").map(decodeURIComponent);
  run(command, args).then(
    () => print([id, "ok"]),
    (error: Error) => print([id, "error", error.name, error.message]),
  );
});
lines.on("close", () => process.exit(0));
print(["!", "started"]);
