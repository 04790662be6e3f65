#!/usr/bin/env node
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { superviseName } from "./run/messages.js";

/**
 * Writes with system calls. `process.stdout` would make a pipe non-blocking, also for the command that `run` starts
 * with the same pipe. If the reader of the pipe ends early, as `head` does, the work and its exit code go on, unless
 * `onGone` ends the work.
 */
function writer(fd: 1 | 2, onGone: () => void = () => {}): (text: string) => void {
  let gone = false;
  return (text) => {
    let rest = Buffer.from(text);
    while (!gone && rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "EAGAIN") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        // A message that cannot be written, as on a full disk, must not end the command that `run` guards.
        else if (fd === 2 || code === "EPIPE" || code === "EBADF" || code === "EIO") gone = true;
        else throw error;
        if (gone) onGone();
      }
    }
  };
}

async function command(): Promise<void> {
  const { main } = await import("./main.js");
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted.abort(signal));
  // Print warnings without the stack trace that Node.js adds: it shows the code of this program, which does not help a user.
  process.removeAllListeners("warning");
  process.on("warning", ({ message }) => writer(2)(`holdfast: ${message}\n`));
  const unread = new AbortController();
  const out = writer(1, () => unread.abort());
  const io = { out, err: writer(2), isTty: isatty(1), signal: interrupted.signal, unread: unread.signal };
  process.exitCode = await main(process.argv.slice(2), io, { env: process.env, directory: process.cwd() });
}

if (process.argv[2] === superviseName) (await import("./run/supervisor.js")).supervise();
else await command();
