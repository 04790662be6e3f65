import { InvalidArgumentError } from "@holdfast/core";
import { checkKnownKeys } from "@holdfast/core/internal";
import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/value";
import { linkProblem } from "../core/link-check.js";
import { ConfigError } from "./config-error.js";
import { checkProxies } from "./places.js";
import { ConfigSchema, type DashboardConfig, longestMs, type Root } from "./schema.js";

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
}

/** @throws ConfigError */
export function checkConfig(value: unknown): DashboardConfig {
  checkKeys("the configuration", ConfigSchema as Shape, value);
  if (!Check(ConfigSchema, value)) throw new ConfigError(firstError(ConfigSchema, value));
  const names = new Set<string>();
  for (const { name, zookeeper, redis } of value.clusters) {
    if (names.has(name)) throw new ConfigError(`clusters: two are called ${name}`);
    names.add(name);
    if ((zookeeper === undefined) === (redis === undefined))
      throw new ConfigError(`clusters: ${name} must have either zookeeper or redis`);
    if (redis !== undefined) {
      const ways = [redis.url, redis.sentinels, redis.cluster].filter((way) => way !== undefined);
      if (ways.length !== 1)
        throw new ConfigError(`clusters: ${name}: redis must have exactly one of url, sentinels and cluster`);
      if (redis.tls !== undefined && redis.url?.startsWith("redis:") === true)
        throw new ConfigError(
          `clusters: ${name}: redis: tls goes with a url that begins with rediss://; redis:// is plain`,
        );
      if (redis.url !== undefined && hasPassword(redis.url))
        throw new ConfigError(
          `clusters: ${name}: redis: url has a password in it; give password: { file } or { env }`,
        );
    }
  }
  if (value.groups !== undefined && value.metrics?.groups !== undefined)
    throw new ConfigError("groups: they are in metrics.groups as well; give them here alone");
  checkProxies(value.trustProxy ?? []);
  for (const [index, link] of (value.links ?? []).entries()) {
    const problem = linkProblem(link);
    if (problem !== null) throw new ConfigError(`links[${index}] (${link.title}): ${problem}`);
  }
  if (value.actions === true)
    for (const { name, zookeeper } of value.clusters)
      for (const root of zookeeper?.roots ?? [])
        if (isEverything(root))
          throw new ConfigError(
            `clusters: ${name}: zookeeper: roots: / does not go with actions: true (--actions), as what is not a lock could be deleted for one; name the paths of the locks (--root /locks)`,
          );
  return value;
}

/** Whether a root is `/`, or has only `*` segments, which limit it no further. */
function isEverything(root: Root): boolean {
  return /^\/(\*\/?)*$/.test(typeof root === "string" ? root : root.path);
}

/** Unknown keys are reported first: any other message about `basepath` would only mislead. */
function checkKeys(where: string, shape: Shape, value: unknown): void {
  if (Array.isArray(value)) {
    const { items } = shape;
    if (items !== undefined)
      for (const [index, each] of value.entries()) checkKeys(`${where}[${index}]`, items, each);
    return;
  }
  const { properties } = shape;
  if (typeof value !== "object" || value === null || properties === undefined) return;
  try {
    checkKnownKeys(where, value, new Set(Object.keys(properties)));
  } catch (error) {
    throw error instanceof InvalidArgumentError ? new ConfigError(error.message) : error;
  }
  for (const [key, each] of Object.entries(value)) {
    const inner = properties[key];
    if (inner !== undefined) checkKeys(where === "the configuration" ? key : `${where}.${key}`, inner, each);
  }
}

function firstError(schema: TSchema, value: unknown): string {
  const [error] = Errors(schema, value);
  if (error === undefined) return "the configuration is not right";
  const where = error.instancePath.slice(1).replaceAll("/", ".");
  // The unit is part of the option's name and nowhere else, so the message repeats it.
  if (where.endsWith("Ms"))
    return `${where} is in milliseconds: a whole number from 1 to ${longestMs}, such as 300000 for five minutes`;
  const params = error.params as { readonly allowedValues?: readonly unknown[] };
  const allowed = params.allowedValues === undefined ? "" : `: ${params.allowedValues.join(", ")}`;
  return `${where === "" ? "the configuration" : where} ${error.message}${allowed}`;
}

function hasPassword(url: string): boolean {
  return URL.canParse(url) && new URL(url).password !== "";
}
