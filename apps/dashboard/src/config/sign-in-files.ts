import { resolve } from "node:path";
import type { BasicUser, BearerToken } from "../auth/credentials.js";
import type { OwnFinding } from "../core/own-findings.js";
import { ConfigError } from "./config-error.js";
import { LiveFile } from "./live-file.js";
import type { DashboardConfig, Secret } from "./schema.js";
import { readSecret, readUsers, type SecretSource } from "./secrets.js";

const lookEveryMs = 2_000;
const shortestToken = 16;

export interface SignInLog {
  info(message: string): void;
  warn(message: string): void;
}

interface TokenSource {
  readonly name: string;
  readonly role: BearerToken["role"];
  /** `null` if the file of the token is gone. */
  token(): string | null;
}

interface NamedFile {
  readonly path: string;
  readonly file: LiveFile<unknown>;
}

/** The users and tokens of the configuration, as their files have them now. Variables are read once. */
export class SignInFiles {
  readonly #users: LiveFile<readonly BasicUser[]> | null;
  readonly #tokens: readonly TokenSource[];
  readonly #files: readonly NamedFile[];
  #knownTokens: readonly BearerToken[];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  private constructor(parts: {
    readonly users: LiveFile<readonly BasicUser[]> | null;
    readonly tokens: readonly TokenSource[];
    readonly files: readonly NamedFile[];
  }) {
    this.#users = parts.users;
    this.#tokens = parts.tokens;
    this.#files = parts.files;
    this.#knownTokens = this.#tokensNow();
  }

  /** Reads all files. @throws ConfigError */
  static async open(
    { basic, bearer = [] }: NonNullable<DashboardConfig["auth"]>,
    source: SecretSource,
    log: SignInLog,
  ): Promise<SignInFiles> {
    const files: NamedFile[] = [];
    const opened = async <T>(
      what: string,
      file: string,
      read: () => Promise<T>,
      gone?: T,
    ): Promise<LiveFile<T>> => {
      const path = resolve(source.directory, file);
      const live = await LiveFile.open({
        path,
        read,
        ...(gone === undefined ? {} : { gone }),
        onChange: () => log.info(`${what}: ${path} has changed and was read again`),
        onProblem: (message) => log.warn(`what was read before stays in force: ${message}`),
      });
      files.push({ path, file: live });
      return live;
    };
    const users =
      basic === undefined
        ? null
        : await opened("auth.basic", basic.file, () => readUsers(basic.file, source));
    const tokens: TokenSource[] = [];
    for (const { name, role, token } of bearer) {
      const what = `auth.bearer ${name}`;
      const read = (): Promise<string | null> => readToken(what, token, source);
      if (token.file === undefined) {
        const value = await read();
        tokens.push({ name, role, token: () => value });
      } else {
        // An operator who removes the file of a token revokes the token.
        const live = await opened(what, token.file, read, null);
        tokens.push({ name, role, token: () => live.value });
      }
    }
    return new SignInFiles({ users, tokens, files });
  }

  /** Another array if the users have changed. */
  get users(): readonly BasicUser[] {
    return this.#users?.value ?? none;
  }

  /** Another array if the tokens have changed. */
  get tokens(): readonly BearerToken[] {
    return this.#knownTokens;
  }

  /** A finding for each file that could not be read: its last good content is in force instead. */
  findings(): OwnFinding[] {
    return this.#files.flatMap(({ path, file: { problem } }) =>
      problem === null
        ? []
        : [
            {
              kind: "sign-in-not-read",
              object: path,
              sinceMs: problem.sinceMs,
              evidence: `${problem.message}. The users and tokens that were read before are in force.`,
              advice:
                "Mend the file; it is read again by itself. Until then no change in it has an effect, removed users included.",
            },
          ],
    );
  }

  /** From now on, looks every two seconds whether a file has changed. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#look(false), lookEveryMs).unref();
  }

  /** Reads all files now. */
  async reread(): Promise<void> {
    await this.#looking;
    await this.#look(true);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(force: boolean): Promise<void> {
    this.#looking ??= this.#lookAt(force).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAt(force: boolean): Promise<void> {
    for (const { file } of this.#files) await file.look(force);
    const tokens = this.#tokensNow();
    const same =
      tokens.length === this.#knownTokens.length &&
      tokens.every(({ name, token }, at) => {
        const known = this.#knownTokens[at];
        return known?.name === name && known.token === token;
      });
    if (!same) this.#knownTokens = tokens;
  }

  #tokensNow(): BearerToken[] {
    return this.#tokens.flatMap(({ name, role, token }) => {
      const value = token();
      return value === null ? [] : [{ name, role, token: value }];
    });
  }
}

const none: readonly BasicUser[] = [];

async function readToken(what: string, secret: Secret, source: SecretSource): Promise<string> {
  const token = await readSecret(what, secret, source);
  if (token.length < shortestToken || /\s/.test(token))
    throw new ConfigError(`${what}: a token is at least ${shortestToken} characters without blanks`);
  return token;
}
