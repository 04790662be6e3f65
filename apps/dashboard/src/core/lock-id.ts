import type { LockCollector } from "@holdfast/collectors";

export type BackendName = LockCollector["backend"];

export interface LockAddress {
  readonly cluster: string;
  readonly backend: BackendName;
  readonly key: string;
}

/** One word without slashes or braces, so that proxies and routers pass any lock name on unchanged. */
export function lockIdOf(address: LockAddress): string {
  return wordOf(address.cluster, address.backend, address.key);
}

/** `null` if `lockIdOf` has not made it. */
export function addressOf(id: string): LockAddress | null {
  const parts = partsOf(id);
  if (parts === null) return null;
  const [cluster, backend, ...rest] = parts;
  if (cluster === undefined || rest.length === 0) return null;
  if (backend !== "zookeeper" && backend !== "redis") return null;
  return { cluster, backend, key: rest.join("\0") };
}

/** Several strings as one opaque word. */
export function wordOf(...parts: readonly string[]): string {
  return Buffer.from(parts.join("\0"), "utf8").toString("base64url");
}

export function partsOf(word: string): readonly string[] | null {
  if (!/^[A-Za-z0-9_-]+$/.test(word)) return null;
  return Buffer.from(word, "base64url").toString("utf8").split("\0");
}
