import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { UsageError } from "./arguments.js";

const shortest = 8;

/** Reads one line of the standard input; at a terminal it is not shown. @throws UsageError */
export async function readPassword(): Promise<string> {
  const terminal = process.stdin.isTTY === true;
  if (terminal) process.stderr.write("Password: ");
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal });
  try {
    for await (const line of lines) {
      if (line.length < shortest) throw new UsageError(`a password has at least ${shortest} characters`);
      return line;
    }
    throw new UsageError("there was no password in the standard input");
  } finally {
    lines.close();
    if (terminal) process.stderr.write("\n");
  }
}
