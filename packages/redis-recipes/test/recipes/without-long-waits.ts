import { vi } from "vitest";

const expected: readonly unknown[] = ["HF_LONG_WAIT", "HF_SELF_WAIT"];

/**
 * For `beforeAll`: hides the warnings about long waits. In virtual time waits are long, and these warnings would fill the log of
 * a green run. All other warnings are printed.
 */
export function withoutLongWaits(): () => void {
  const { emitWarning } = process;
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation((...args) => {
    if (!expected.includes(args[1]?.code)) emitWarning(...args);
  });
  return () => warnings.mockRestore();
}
