import { createRequire } from "node:module";
import type * as Prometheus from "prom-client";

export type PromClient = typeof Prometheus;

const load = createRequire(import.meta.url);

/** `undefined` where it is not installed: it is an optional peer, so that a library may call us wherever it runs. */
export function findPromClient(): PromClient | undefined {
  try {
    return load("prom-client") as PromClient;
  } catch (error) {
    if ((error as { code?: unknown }).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
