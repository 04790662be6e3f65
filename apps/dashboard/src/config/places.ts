import { access, constants, stat } from "node:fs/promises";
import { isIP, isIPv4 } from "node:net";
import { dirname, resolve } from "node:path";
import { ConfigError } from "./config-error.js";

const namedNetworks: ReadonlySet<string> = new Set(["loopback", "linklocal", "uniquelocal"]);

/** Checks the values of `trustProxy`. @throws ConfigError */
export function checkProxies(proxies: readonly string[]): void {
  for (const proxy of proxies) {
    const [address = "", mask, ...more] = proxy.split("/");
    const version = isIP(address);
    const bits = mask === undefined ? null : bitsOf(mask, version);
    if (bits === 0 && version !== 0)
      throw new ConfigError(`trustProxy: ${JSON.stringify(proxy)} is every address: name the proxies`);
    const network = bits !== null && bits <= (version === 4 ? 32 : 128);
    if (namedNetworks.has(proxy) || (version !== 0 && more.length === 0 && (mask === undefined || network)))
      continue;
    throw new ConfigError(
      `trustProxy: ${JSON.stringify(proxy)} is no address and no network, such as 10.0.0.0/8, loopback, linklocal or uniquelocal`,
    );
  }
}

/** How many bits of an address a mask has, such as `8` or `255.0.0.0`; `null` if it is none. */
function bitsOf(mask: string, version: number): number | null {
  if (/^\d{1,3}$/.test(mask)) return Number(mask);
  if (version !== 4 || !isIPv4(mask)) return null;
  const binary = mask.split(".").map((part) => Number(part).toString(2).padStart(8, "0"));
  return /^(1*)0*$/.exec(binary.join(""))?.[1]?.length ?? null;
}

/** Checks that lines can be appended to the file, or that it can be made. Makes nothing. @throws ConfigError */
export async function checkAppendable(what: string, file: string, directory: string): Promise<string> {
  const path = resolve(directory, file);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() === true) throw new ConfigError(`${what}: ${path} is a folder`);
  const place = found === null ? dirname(path) : path;
  try {
    await access(place, constants.W_OK);
  } catch (error) {
    throw new ConfigError(`${what}: ${place} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
  return path;
}
