import { writeSync } from "node:fs";
import type { FromWorker } from "./protocol.js";

const standardOutput = 1;
const wait = new Int32Array(new SharedArrayBuffer(4));

/**
 * Sends a line to the runner, on standard output or another descriptor. The write is synchronous, so that a line before
 * a SIGKILL is read, and a release is recorded before its request is sent. A slow reader holds the worker up.
 */
export function say(word: FromWorker, fd: number = standardOutput): void {
  const bytes = Buffer.from(`${JSON.stringify(word)}\n`);
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(fd, bytes, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      // The other end has made the pipe non-blocking.
      Atomics.wait(wait, 0, 0, 1);
    }
  }
}
