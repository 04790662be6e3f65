import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { BasicUser } from "../auth/credentials.js";
import { isPasswordHash } from "../auth/passwords.js";
import { isRole } from "../auth/roles.js";
import { ConfigError } from "./config-error.js";
import type { Secret } from "./schema.js";

export interface SecretSource {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called for a file with secrets that every user of the machine can read. Default: no warning. */
  readonly warn?: (message: string) => void;
}

/** What a file or a variable holds. @throws ConfigError that names the place, never the content. */
export async function readSecret(what: string, secret: Secret, source: SecretSource): Promise<string> {
  const { file, env } = secret;
  if ((file === undefined) === (env === undefined))
    throw new ConfigError(`${what} must have either file or env`);
  const text = file === undefined ? source.env[env ?? ""] : await readText(what, file, source);
  const value = text?.replace(/\r?\n$/, "");
  if (value === undefined || value === "")
    throw new ConfigError(
      `${what}: ${file === undefined ? `variable ${env} is not set` : `${file} is empty`}`,
    );
  return value;
}

/** Reads lines of `name:role:hash`; empty lines and those that begin with `#` are skipped. @throws ConfigError */
export async function readUsers(file: string, source: Omit<SecretSource, "env">): Promise<BasicUser[]> {
  const users: BasicUser[] = [];
  const lines = (await readText("auth.basic", file, source)).split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [name, role, passwordHash] = line.trim().split(":");
    const where = `${file}, line ${index + 1}`;
    if (name === undefined || name === "" || passwordHash === undefined)
      throw new ConfigError(`${where}: must be name:role:hash`);
    if (!isRole(role)) throw new ConfigError(`${where}: the role must be viewer, operator or admin`);
    if (!isPasswordHash(passwordHash))
      throw new ConfigError(`${where}: not a hash as \`holdfast-dashboard hash-password\` makes it`);
    if (users.some((user) => user.name === name)) throw new ConfigError(`${where}: ${name} is there twice`);
    users.push({ name, role, passwordHash });
  }
  if (users.length === 0) throw new ConfigError(`${file}: there is no user in it`);
  return users;
}

async function readText(
  what: string,
  file: string,
  { directory, warn }: Omit<SecretSource, "env">,
): Promise<string> {
  const path = resolve(directory, file);
  try {
    await using handle = await open(path);
    const { mode } = await handle.stat();
    if ((mode & 0o004) !== 0) warn?.(`${what}: ${path} can be read by every user of this machine: chmod o-r`);
    return await handle.readFile("utf8");
  } catch (error) {
    throw new ConfigError(`${what}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
