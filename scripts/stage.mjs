import { spawn } from "node:child_process";
import { performance } from "node:perf_hooks";

const killAfterMs = 10_000;

/**
 * Runs one command without input.
 *
 * @param {string} name as in the log
 * @param {readonly string[]} command program and arguments
 * @param {{ limitMs: number, env?: Record<string, string>, log?: number }} options `Infinity` for no limit; `log`: a file
 *   descriptor that takes the output
 * @returns {Promise<{ name: string, tookMs: number, failure: string | null }>} never rejects
 */
export function runStage(name, command, { limitMs, env = {}, log }) {
  const [program, ...args] = command;
  const startedAt = performance.now();
  if (log === undefined) console.log(`\n== ${name}: ${[program, ...args].join(" ")}`);
  return new Promise((resolve) => {
    let ending = null;
    const child = spawn(program, args, {
      stdio: ["ignore", log ?? "inherit", log ?? "inherit"],
      env: { ...process.env, ...env },
    });
    const timers = [];
    // Ending this one process is enough: what the tests have started ends with vitest.
    const end = () => {
      child.kill("SIGTERM");
      timers.push(setTimeout(() => child.kill("SIGKILL"), killAfterMs));
    };
    const limit = () => {
      ending = `did not end within ${limitMs / 1000} s`;
      end();
    };
    if (Number.isFinite(limitMs)) timers.push(setTimeout(limit, limitMs));
    const interrupted = () => {
      ending = "interrupted";
      process.exitCode = 130;
      end();
    };
    process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
    const settle = (failure) => {
      for (const timer of timers) clearTimeout(timer);
      process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
      resolve({ name, tookMs: performance.now() - startedAt, failure });
    };
    child.on("error", (error) => settle(`does not start: ${error.message}`));
    child.on("exit", (code, signal) => {
      // A process that we ended may exit with 0, as turbo does. So `ending` decides first.
      settle(ending ?? (code === 0 ? null : `ended with ${code ?? signal}`));
    });
  });
}
