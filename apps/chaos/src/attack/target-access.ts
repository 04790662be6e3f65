import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { UsageError } from "../cli/usage.js";
import type { TargetAccess } from "./target.js";

/** Options of the command line for access to the target, for `parseArgs`. */
export const accessOptions = {
  "sentinel-access": { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "server-name": { type: "string" },
} as const;

type Values = { readonly [K in keyof typeof accessOptions]?: string };

/** Reads the files. @throws UsageError that names a file, but never shows its content */
export function readAccess({ ca, cert, key, ...others }: Values): TargetAccess {
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key go together");
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== undefined);
  const pem = Object.fromEntries(files.map(([what, file = ""]) => [what, readPem(`--${what}`, file)]));
  try {
    // `createSecureContext` silently ignores a text that is no certificate, so check it first.
    if (pem.ca !== undefined) new X509Certificate(pem.ca);
    createSecureContext(pem);
  } catch (error) {
    const named = files.map(([what, file]) => `--${what} ${file}`).join(" ");
    throw new UsageError(`${named}: ${(error as Error).message}`);
  }
  const { "server-name": serverName, "sentinel-access": sentinels } = others;
  const tls = { ...pem, ...(serverName === undefined ? {} : { serverName }) };
  return {
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...(sentinels === undefined ? {} : { sentinels }),
  };
}

function readPem(what: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${what} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
