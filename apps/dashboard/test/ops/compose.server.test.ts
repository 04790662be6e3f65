import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { requireComposeSchema } from "@holdfast/test-servers";
import Format from "typebox/format";
import { Compile } from "typebox/schema";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { prometheusFile } from "../../ops/generate/prometheus.js";
import { loadConfig } from "../../src/config/load.js";

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile: string; readonly context: string };
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, object>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const ops = new URL("../../ops/", import.meta.url);
const path = (below: string): string => fileURLToPath(new URL(below, ops));
/** Each service with anchors and merges resolved, as Compose reads it. */
const compose = parse(readFileSync(path("compose.yaml"), "utf8"), { merge: true }) as Compose;
const services = Object.entries(compose.services);
let takes: (file: unknown) => boolean;
let wrongIn: (file: unknown) => string[];

beforeAll(() => {
  // JSON Schema would take "duration" as that of ISO 8601. Compose writes 1m30s.
  Format.Set("duration", (text) => /^(\d+(\.\d+)?(us|ms|s|m|h))+$/.test(text));
  const schema = Compile(JSON.parse(readFileSync(requireComposeSchema(), "utf8")) as object);
  takes = (file) => schema.Check(file);
  wrongIn = (file) => schema.Errors(file)[1].map(({ instancePath, message }) => `${instancePath} ${message}`);
});

test("the file is what the schema of Compose files describes", () => {
  expect(wrongIn(compose)).toEqual([]);
  expect(takes(compose)).toBe(true);
  // The schema must be able to refuse a wrong file.
  expect(takes({ ...compose, services: { a: { imagge: "x" } } })).toBe(false);
  expect(takes({ ...compose, services: { a: { image: "x", healthcheck: { interval: "often" } } } })).toBe(
    false,
  );
  expect(takes({ ...compose, services: { a: { image: "x", ports: [{ targt: 1 }] } } })).toBe(false);
});

test("the parts are three ZooKeepers, Redis with a replica and three Sentinels, the dashboard, Prometheus and Grafana", () => {
  expect(services.map(([name]) => name)).toEqual([
    ...["zookeeper-1", "zookeeper-2", "zookeeper-3"],
    ...["redis-1", "redis-2", "sentinel-1", "sentinel-2", "sentinel-3"],
    ...["dashboard", "prometheus", "grafana"],
  ]);
});

test.each(services)(
  "%s is published on this machine only, with files, volumes and secrets that are there",
  (_, service) => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    for (const volume of service.volumes ?? []) {
      const [source = ""] = volume.split(":");
      if (source.startsWith("./")) expect(existsSync(path(source)), source).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    for (const secret of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret);
    expect(service.image).toMatch(/^[a-z/-]+(:[a-z0-9.-]+)?$/);
    expect(service.image?.includes(":latest")).toBe(false);
  },
);

test.each(services)(
  "%s waits for services that are there, and for health only where it is checked",
  (_, service) => {
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      const other = compose.services[name];
      expect(other, name).toBeDefined();
      // The dashboard's health check is in its image.
      if (condition === "service_healthy" && name !== "dashboard")
        expect(other?.healthcheck, name).toBeDefined();
    }
  },
);

test("the dashboard's configuration is one that it takes, and names services of the file", async () => {
  const { config } = await loadConfig(path("compose/dashboard.yaml"));
  const [zookeeper, redis] = config.clusters;
  const hosts = [
    ...(zookeeper?.zookeeper?.connect.split(",").map((address) => address.split(":")[0]) ?? []),
    ...(redis?.redis?.sentinels?.sentinels.map(({ host }) => host) ?? []),
  ];
  expect(hosts).toHaveLength(6);
  for (const host of hosts) expect(Object.keys(compose.services)).toContain(host);
  const sentinel = readFileSync(path("compose/sentinel.conf"), "utf8");
  expect(sentinel).toContain(`sentinel monitor ${redis?.redis?.sentinels?.name} redis-1 6379 2\n`);
  const secrets = [config.auth?.basic?.file, config.auth?.bearer?.[0]?.token.file];
  for (const secret of secrets) {
    expect(compose.services.dashboard?.secrets).toContain(secret?.replace("/run/secrets/", ""));
  }
  expect(config.listen?.port).toBe(8080);
});

test("Prometheus asks the dashboard where it listens, with a token that it has", () => {
  const { scrape_configs: jobs } = parse(prometheusFile()) as {
    scrape_configs: {
      static_configs: { targets: string[] }[];
      authorization?: { credentials_file: string };
    }[];
  };
  expect(jobs[0]?.static_configs[0]?.targets).toEqual(["dashboard:8080"]);
  const token = jobs[0]?.authorization?.credentials_file.replace("/run/secrets/", "");
  expect(compose.services.prometheus?.secrets).toContain(token);
});

test("the image is built in stages, ends as a user that is not root, and says whether it is well", () => {
  const lines = readFileSync(path("Dockerfile"), "utf8").replaceAll("\\\n", "").split("\n");
  const stages = lines.filter((line) => line.startsWith("FROM "));
  expect(stages).toHaveLength(2);
  const last = lines.slice(lines.lastIndexOf(stages[1] ?? ""));
  expect(last).toContain("USER 1000:1000");
  expect(last.some((line) => line.startsWith("HEALTHCHECK "))).toBe(true);
  expect(compose.services.dashboard?.build?.dockerfile).toBe("apps/dashboard/ops/Dockerfile");
  expect(existsSync(path(`${compose.services.dashboard?.build?.context}/package-lock.json`))).toBe(true);
  // The Dockerfile must name every workspace that the dashboard needs, directly or indirectly.
  const needed = new Set<string>();
  const collect = (folder: string): void => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(path(`../../../${folder}/package.json`), "utf8"),
    ) as { dependencies?: Record<string, string> };
    for (const name of Object.keys(dependencies)) {
      if (!name.startsWith("@holdfast/") || needed.has(name)) continue;
      needed.add(name);
      collect(`packages/${name.slice("@holdfast/".length)}`);
    }
  };
  collect("apps/dashboard");
  const install = lines.find((line) => line.includes("--omit=dev")) ?? "";
  for (const name of needed) expect(install).toContain(`--workspace ${name} `);
});
