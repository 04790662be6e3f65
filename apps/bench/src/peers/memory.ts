import { fork } from "node:child_process";
import type { MemoryReport } from "../memory.js";
import { startServer } from "./server.js";
import type { Backend } from "./workloads.js";

export interface Memory extends MemoryReport {
  readonly backend: Backend;
}

const sizes = { holds: 100_000, waiters: 100_000 } as const;

/**
 * Measures heap for each hold and each waiter, on a server of its own. At an abort it kills its process and rejects.
 */
export async function measureHeap(
  backend: Backend,
  options: { readonly quick: boolean; readonly signal: AbortSignal },
): Promise<Memory> {
  const { quick, signal } = options;
  const server = await startServer(backend);
  try {
    const { holds, waiters } = quick ? { holds: 100, waiters: 100 } : sizes;
    const args = [backend, server.address, String(holds), String(waiters)];
    const child = fork(new URL("./heap-process.js", import.meta.url), args, {
      execArgv: ["--max-old-space-size=8192"],
      signal,
      killSignal: "SIGKILL",
    });
    const report = await new Promise<MemoryReport>((resolve, reject) => {
      child.once("message", (message) => resolve(message as MemoryReport));
      child.once("error", reject);
      child.once("exit", (code, by) => reject(new Error(`its process ended with ${code ?? by}`)));
    });
    return { backend, ...report };
  } finally {
    await server.stop();
  }
}
