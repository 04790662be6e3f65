import { InvalidArgumentError } from "@holdfast/core";

/** Quotes a name for SQL, whatever characters it has. */
export function quoteName(name: unknown): string {
  if (typeof name !== "string" || name === "" || name.includes("\0"))
    throw new InvalidArgumentError(`fence: a table needs a name; got ${JSON.stringify(name)}`);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a text for SQL. */
export function quoteText(text: string): string {
  if (text.includes("\0")) throw new InvalidArgumentError("fence: a resource must not have a NUL character");
  return `'${text.replaceAll("'", "''")}'`;
}

/** Whether a guard refuses writes without the newest token; `false` where it only notes them. */
export function isEnforced(mode: unknown = "enforce"): boolean {
  if (mode === "enforce" || mode === "check") return mode === "enforce";
  throw new InvalidArgumentError(`fence: mode must be "enforce" or "check"; got ${String(mode)}`);
}
