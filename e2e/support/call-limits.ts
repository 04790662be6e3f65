import type { AcquireOptions, LockProvider } from "@holdfast/core";
import { expect } from "vitest";

/** One recipe: its name, and how it is asked for the lock of a given name. */
export type AskedRecipe<P extends LockProvider> = readonly [
  what: string,
  ask: (
    provider: P,
    name: string,
    options: AcquireOptions,
  ) => Promise<{ release(): Promise<unknown> } | null>,
];

/** Two connected providers on one link. `quick` has a `connectTimeoutMs` of `quickMs`. */
export interface Linked<P extends LockProvider> {
  readonly patient: P;
  readonly quick: P;
}

export const quickMs = 500;

interface Limit {
  readonly what: string;
  readonly of: "patient" | "quick";
  readonly limitMs: number;
  begin(): AcquireOptions;
}

const limits: readonly Limit[] = [
  { what: "waitMs 300", of: "patient", limitMs: 300, begin: () => ({ waitMs: 300 }) },
  {
    what: "an abort after 200 ms",
    of: "patient",
    limitMs: 200,
    begin: () => ({ signal: AbortSignal.timeout(200) }),
  },
  { what: "waitMs 0", of: "quick", limitMs: quickMs, begin: () => ({ waitMs: 0 }) },
];

/**
 * Calls every recipe under every limit at once, on the link in its present state. On a quiet machine a call settles at its
 * limit. The test fails at about ten times the limit, which is far less than the time of a call that waits for its clean-up.
 */
export async function expectLimitsKept<P extends LockProvider>(
  linked: Linked<P>,
  recipes: readonly AskedRecipe<P>[],
): Promise<void> {
  const cells = recipes.flatMap(([recipe, ask]) => limits.map((limit) => ({ recipe, ask, limit })));
  const ends = await Promise.all(
    cells.map(async ({ recipe, ask, limit }) => {
      const options = limit.begin();
      const startedMs = performance.now();
      const error = await ask(
        linked[limit.of],
        `${recipe}, ${limit.what}`.replaceAll(" ", "-"),
        options,
      ).then(
        () => "granted",
        (reason: unknown) => reason,
      );
      const tookMs = performance.now() - startedMs;
      return { cell: `${recipe}, ${limit.what}`, error, tookMs, limit, reason: options.signal?.reason };
    }),
  );
  const late = ends.filter(({ tookMs, limit }) => tookMs >= 10 * (limit.limitMs + 100));
  expect(late.map(({ cell, tookMs }) => `${cell}: ${Math.round(tookMs)} ms`)).toEqual([]);
  for (const { cell, error, reason } of ends) {
    if (reason === undefined)
      expect([cell, error]).toEqual([cell, expect.objectContaining({ code: "HF_BACKEND" })]);
    // An outage that the server itself reports may end the call first.
    else if ((error as { code?: string }).code !== "HF_BACKEND")
      expect([cell, error]).toEqual([cell, reason]);
  }
}

/** A slow server is no outage: a call that asks once is granted. */
export async function expectGranted<P extends LockProvider>(
  provider: P,
  recipes: readonly AskedRecipe<P>[],
): Promise<void> {
  const handles = await Promise.all(
    recipes.map(([recipe, ask]) => ask(provider, `${recipe}, slow`.replaceAll(" ", "-"), { waitMs: 0 })),
  );
  expect(handles.map((handle, i) => [recipes[i]?.[0], handle !== null])).toEqual(
    recipes.map(([recipe]) => [recipe, true]),
  );
  await Promise.all(handles.map((handle) => handle?.release()));
}

/** Expects that a call which waits at a silent server rejects at its limit, and that its error is an outage. */
export async function expectOutageHeard<P extends LockProvider>({
  patient,
  quick,
}: Linked<P>): Promise<void> {
  const begunMs = performance.now();
  const asked = [
    patient.doubleBarrier("round", 2).enter({ waitMs: 300 }),
    patient.countDownLatch("latch").wait({ waitMs: 300 }),
    quick.doubleBarrier("round", 2).enter({ waitMs: 0 }),
    quick.countDownLatch("latch").wait({ waitMs: 0 }),
  ];
  for (const each of await Promise.allSettled<unknown>(asked))
    expect(each).toMatchObject({ status: "rejected", reason: { code: "HF_BACKEND" } });
  expect(performance.now() - begunMs).toBeLessThan(2_000);
}
