import { readFile } from "node:fs/promises";
import type { LockEventMap } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { onTestFinished } from "vitest";

type Told = LockEventMap["server-warning"];

export interface Opened {
  readonly locks: RedisLocks;
  /** The `server-warning` events, oldest first. */
  readonly warnings: Told[];
  until(code: string): Promise<Told>;
}

/** A provider that is closed with the test. Its events are recorded from the first moment on. */
export function open(options: RedisLocksOptions): Opened {
  const locks = redisLocks({ heartbeatMs: 200, aliveMs: 700, ...options });
  const warnings: Told[] = [];
  locks.events.on("server-warning", (event) => warnings.push(event));
  onTestFinished(async () => {
    await locks.close({ releaseTimeoutMs: 200 });
  });
  const until = (code: string) =>
    eventually(() => warnings.find((each) => each.code === code) ?? null, {
      what: `the warning ${code}`,
      detail: () => JSON.stringify(warnings),
    });
  return { locks, warnings, until };
}

/** The error by which an acquire is refused. Throws when the acquire is granted. */
export async function refusal(promise: Promise<unknown>): Promise<Error & { readonly rights?: unknown }> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error("it was not refused");
  return error;
}

/** The ACL user in the readme of the package, as the words that follow `user`. */
export async function documentedUser(): Promise<string> {
  const readme = await packageReadme();
  const [, line] = /```acl\nuser ([^\n]*)\n```/.exec(readme) ?? [];
  if (line === undefined) throw new Error("the readme shows no ACL user");
  return line;
}

export function packageReadme(): Promise<string> {
  return readFile(new URL("../../../packages/redis-recipes/README.md", import.meta.url), "utf8");
}
