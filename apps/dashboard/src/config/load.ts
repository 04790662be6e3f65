import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseDocument } from "yaml";
import { checkConfig } from "./check.js";
import { ConfigError } from "./config-error.js";
import type { DashboardConfig } from "./schema.js";

export interface LoadedConfig {
  readonly config: DashboardConfig;
  /** Paths in the file are relative to it. */
  readonly directory: string;
}

/** Reads YAML, of which JSON is a part. @throws ConfigError */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split("\n").length;
    throw new ConfigError(`${file}, line ${line}: not YAML (${error.code})`);
  }
  try {
    return { config: checkConfig(document.toJS({ maxAliasCount: 10 })), directory: dirname(file) };
  } catch (failure) {
    throw failure instanceof ConfigError ? new ConfigError(`${file}: ${failure.message}`) : failure;
  }
}
