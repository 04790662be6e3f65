import { BackendError, InvalidArgumentError, memoryLocks, type RetryPolicy } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { scripted } from "./scripted-driver.js";

const outage = () => new BackendError("the connection broke", { backend: "memory" });

describe("a listener of acquire-started that aborts the call", () => {
  it("ends the call with the reason of the signal, before anything is asked", async () => {
    const runtime = simulatedRuntime(40);
    const { provider, requests } = scripted(runtime, "session");
    const stop = new AbortController();
    const outcomes: string[] = [];
    provider.events.on("acquire-started", () => stop.abort("no need any more"));
    provider.events.on("acquire-settled", ({ outcome }) => outcomes.push(outcome));
    const reasons: unknown[] = [];
    provider
      .mutex("a")
      .acquire({ signal: stop.signal })
      .catch((reason) => reasons.push(reason));
    await runtime.advance(60_000);
    expect(reasons).toEqual(["no need any more"]);
    expect(outcomes).toEqual(["aborted"]);
    expect(requests).toHaveLength(0);
  });
});

it("options that a call does not know, or that are no object, reject with what is wrong, and do nothing", async () => {
  const locks = memoryLocks();
  const lock = locks.mutex("a");
  const write = await locks.readWriteLock("w").write.acquire();
  const calls: readonly (readonly [method: string, call: (options: never) => Promise<unknown>])[] = [
    ["ready", (options) => locks.ready(options)],
    ["inspect", (options) => lock.inspect(options)],
    ["requestRevoke", (options) => lock.requestRevoke(options)],
    ["confirm", (options) => write.confirm(options)],
    ["downgrade", (options) => write.downgrade(options)],
    ["release", (options) => write.release(options)],
  ];
  for (const [method, call] of calls) {
    const wrong: readonly (readonly [options: unknown, message: string])[] = [
      [{ zzz: 1 }, `${method} does not know the option "zzz"`],
      [null, `${method}: options must be an object; got null`],
    ];
    for (const [options, message] of wrong) {
      const refused = call(options as never);
      await expect(refused).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(refused).rejects.toThrow(message);
    }
  }
  expect(write.state).toBe("held");
});

describe("a retry policy with a mistake", () => {
  const mistakes: readonly (readonly [what: string, next: () => unknown, told: RegExp])[] = [
    [
      "that throws",
      () => {
        throw new TypeError("cannot read that");
      },
      /scripted: retry\.next threw: TypeError: cannot read that/,
    ],
    ["that forgets to return", () => undefined, /must give null or a number.*got undefined/],
    ["that gives NaN", () => Number.NaN, /must give null or a number.*got NaN/],
    ["that never wants to try again", () => Infinity, /finite; got Infinity/],
    ["that gives a negative delay", () => -1, /0 or more.*got -1/],
  ];

  it.each(mistakes)(
    "%s ends the tries: the acquire rejects with the failure, and a warning names the mistake",
    async (_what, next, told) => {
      const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
      onTestFinished(() => warn.mockRestore());
      const runtime = simulatedRuntime(41);
      const retry = { next } as unknown as RetryPolicy;
      const { provider, last, requests } = scripted(runtime, "session", { retry });
      const failure = outage();
      const errors: unknown[] = [];
      provider
        .mutex("a")
        .acquire()
        .catch((error) => errors.push(error));
      await runtime.advance(0);
      last().granted.reject(failure);
      await runtime.advance(60_000);
      expect(errors).toEqual([failure]);
      expect(requests).toHaveLength(1);
      expect(warn.mock.calls.map(([text]) => String(text))).toEqual([expect.stringMatching(told)]);
    },
  );
});
