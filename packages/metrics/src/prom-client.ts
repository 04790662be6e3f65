// Imported as a whole: the banner that gives an ES module bundle its `require` commonly declares `createRequire`.
import nodeModule from "node:module";
import type * as Prometheus from "prom-client";

export type PromClient = typeof Prometheus;

/**
 * prom-client; `undefined` where it is not installed. It is an optional peer, so that a library may call us wherever it
 * runs. An ES module has no `require`. Where there is one, a bundler has put it there, and has included prom-client because
 * of this call.
 */
export function findPromClient(): PromClient | undefined {
  try {
    if (typeof require === "function") return require("prom-client") as PromClient;
    return nodeModule.createRequire(import.meta.url)("prom-client") as PromClient;
  } catch (error) {
    if ((error as { code?: unknown }).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
