import { type Millis, systemRuntime } from "@holdfast/core";
import { onTestFinished } from "vitest";
import { IoredisLine, type LineOptions } from "../../src/client/ioredis-line.js";
import type { LineNotice } from "../../src/client/redis-line.js";
import { commandSettings, defaultTimes } from "../../src/client/settings.js";
import type { RedisLocksOptions } from "../../src/provider/options.js";
import { resolveOptions } from "../../src/provider/options.js";
import type { Script } from "../../src/scripts/script.js";

/** The options of a user's client about which there is nothing to warn. */
export const givenSettings = (): ReturnType<typeof commandSettings> => ({
  ...commandSettings(),
  commandTimeout: defaultTimes.commandTimeoutMs,
});

export interface OpenLine {
  readonly line: IoredisLine;
  /** Each state since the start, oldest first. */
  readonly states: string[];
  readonly notices: LineNotice[];
  /** The warnings that a provider would emit as process warnings. */
  readonly warnings: { readonly message: string; readonly code: string }[];
}

/** A line as the provider would open it. It is closed when the test ends. */
export function openLine(options: RedisLocksOptions, override: Partial<LineOptions> = {}): OpenLine {
  const resolved = resolveOptions(options);
  const states: string[] = [];
  const notices: LineNotice[] = [];
  const warnings: { message: string; code: string }[] = [];
  const line = new IoredisLine({
    target: resolved.target,
    runtime: systemRuntime,
    connectTimeoutMs: resolved.common.connectTimeoutMs,
    policy: {
      replicas: resolved.replicas,
      acks: resolved.acks,
      waitTimeoutMs: resolved.waitTimeoutMs,
    },
    times: resolved,
    shardedPubSub: resolved.shardedPubSub,
    onState: (state) => states.push(state),
    warn: (message, code) => warnings.push({ message, code }),
    ...override,
  });
  line.onRenewed((what) => notices.push(what));
  onTestFinished(() => line.close(2_000));
  return { line, states, notices, warnings };
}

/** Adds one to a counter and answers with its value: a script that shows how often it ran. */
export const increment: Script<number> = {
  name: "test-increment",
  lua: "return redis.call('INCR', KEYS[1])",
  keyCount: 1,
  parse: Number,
};

export const echo: Script<string> = {
  name: "test-echo",
  lua: "return ARGV[1]",
  keyCount: 1,
  parse: String,
};

/** How a promise ends: its value or its error, and the time it took. */
export async function settled<T>(
  promise: Promise<T>,
): Promise<{ readonly value?: T; readonly error?: unknown; readonly tookMs: Millis }> {
  const startedMs = performance.now();
  try {
    const value = await promise;
    return { value, tookMs: performance.now() - startedMs };
  } catch (error) {
    return { error, tookMs: performance.now() - startedMs };
  }
}

let names = 0;

/** A name that no other test of this run has. */
export function freshName(what: string): string {
  return `${what}-${process.pid}-${names++}`;
}
