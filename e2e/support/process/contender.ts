/**
 * A process that contends for locks. It is steered by lines as in `Peer.java`: `connect <connectString> <sessionTimeoutMs>`,
 * `contend <path> <counterFile> <logFile> <grants> <label>`, `close`. It ends with its stdin. Started by `contender-process.ts`.
 */
import type { LockProvider } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { answerLines } from "./answer-lines.js";
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

answerLines(async (command, ...args) => {
  await run(command, args);
  return [];
});
