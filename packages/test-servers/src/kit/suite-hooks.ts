type Hook = (run: () => Promise<void>) => unknown;

/**
 * The hooks of a test framework, under the names of vitest, jest or node:test: pass what you import from there.
 * `before` and `after` are node:test's names.
 */
export type SuiteHooks =
  | {
      /** The server starts here. */
      readonly beforeAll: Hook;
      /** The server stops here. */
      readonly afterAll: Hook;
      /** Whatever a test broke is healed here. Without this hook nothing is healed. */
      readonly afterEach?: Hook;
    }
  | {
      /** The server starts here. */
      readonly before: Hook;
      /** The server stops here. */
      readonly after: Hook;
      /** Whatever a test broke is healed here. Without this hook nothing is healed. */
      readonly afterEach?: Hook;
    };

/** Runs `start` before the first test of the suite, `heal` after each, and `stop` after the last. */
export function followSuite(
  hooks: SuiteHooks,
  steps: { start(): Promise<void>; heal(): Promise<void>; stop(): Promise<void> },
): void {
  const { before, after } = "before" in hooks ? hooks : { before: hooks.beforeAll, after: hooks.afterAll };
  // The callbacks take no arguments: a framework may pass a context, or mistake a parameter for a callback to wait for.
  before(() => steps.start());
  hooks.afterEach?.(() => steps.heal());
  after(() => steps.stop());
}
