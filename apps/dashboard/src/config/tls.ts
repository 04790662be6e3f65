import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ConnectionOptions, createSecureContext } from "node:tls";
import { ConfigError } from "./config-error.js";
import type { Tls } from "./schema.js";
import { readSecret, type SecretSource } from "./secrets.js";

/**
 * The options for `node:tls`, from the files that are named. @throws ConfigError that names the file, never its
 * content.
 */
export async function readTls(what: string, tls: Tls, source: SecretSource): Promise<ConnectionOptions> {
  const { ca, cert, key, passphrase, serverName } = tls;
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigError(`${what}: cert and key go together`);
  const read = async (name: "ca" | "cert" | "key"): Promise<Partial<Record<typeof name, Buffer>>> => {
    const file = tls[name];
    if (file === undefined) return {};
    const path = resolve(source.directory, file);
    try {
      return { [name]: await readFile(path) };
    } catch (error) {
      throw new ConfigError(
        `${what}: ${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      );
    }
  };
  const options: ConnectionOptions = {
    ...(await read("ca")),
    ...(await read("cert")),
    ...(await read("key")),
    ...(passphrase === undefined
      ? {}
      : { passphrase: await readSecret(`${what}: passphrase`, passphrase, source) }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
  try {
    createSecureContext(options);
  } catch (error) {
    const files = [ca, cert, key].filter((file) => file !== undefined).join(", ");
    throw new ConfigError(`${what}: ${files}: ${(error as Error).message}`);
  }
  return options;
}
