/** The command line was wrong: exit code 2. A task that failed gives 1. */
export class UsageError extends Error {}

export function isUsageError(error: unknown): error is Error {
  return (
    error instanceof UsageError ||
    (error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS_"))
  );
}

export function parseNumber(option: string, text: string, lowest: number, highest: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < lowest || value > highest) {
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is not a whole number from ${lowest} to ${highest}`,
    );
  }
  return value;
}
