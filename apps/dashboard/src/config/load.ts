import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parseDocument } from "yaml";
import { checkConfig } from "./check.js";
import { ConfigError } from "./config-error.js";
import type { DashboardConfig } from "./schema.js";

/** A configuration as it was read from a file. */
export interface LoadedConfig {
  /** Its content, checked. */
  readonly config: DashboardConfig;
  /** Paths in the file are relative to this directory. */
  readonly directory: string;
}

const structure = "keys and values do not fit together; look at the indentation and the colons";
/** Own messages replace the parser's, which may repeat what is in the file, and that may be a secret. */
const yamlWords: Readonly<Record<string, string>> = {
  BAD_INDENT: "the indentation does not fit the lines above",
  TAB_AS_INDENT: "a tab is no indentation; use blanks",
  BLOCK_AS_IMPLICIT_KEY: structure,
  MULTILINE_IMPLICIT_KEY: structure,
  BLOCK_IN_FLOW: structure,
  UNEXPECTED_TOKEN: structure,
  DUPLICATE_KEY: "the same key is there twice",
  MISSING_CHAR: "a quote or a bracket is not closed, or a comma is missing",
  MULTIPLE_DOCS: "a second document begins here; there may be one",
  BAD_ALIAS: "an alias has no anchor",
  BAD_SCALAR_START: "a value that begins with this sign must be in quotes",
  BAD_DQ_ESCAPE: "a backslash in double quotes begins no known escape; use single quotes",
};

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
    throw new ConfigError(`${file}, line ${line}: not YAML: ${yamlWords[error.code] ?? error.code}`);
  }
  try {
    const config = checkConfig(document.toJS({ maxAliasCount: 10 }));
    // In code, the caller may pass collectors instead. A file has nothing else to show.
    if (config.clusters.length === 0) throw new ConfigError("clusters: name at least one");
    return { config, directory: dirname(file) };
  } catch (failure) {
    throw failure instanceof ConfigError ? new ConfigError(`${file}: ${failure.message}`) : failure;
  }
}
