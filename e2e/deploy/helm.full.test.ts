import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { hashPassword } from "@holdfast/dashboard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { helm, kubernetesValidate } from "./tools.js";

const ops = fileURLToPath(new URL("../../apps/dashboard/ops", import.meta.url));
const cli = fileURLToPath(new URL("../../apps/dashboard/dist/cli.js", import.meta.url));
const chart = join(ops, "helm/holdfast-dashboard");
const examples = ["read-only", "everything", "visitors"];
/** The oldest version that the chart accepts and that has schemas, and the newest one. */
const versions = ["1.25", "1.37"];

let helmProgram: string | null;
let validateProgram: string | null;
let directory: string;
beforeAll(async () => {
  helmProgram = await helm();
  validateProgram = await kubernetesValidate();
  directory = await mkdtemp(join(tmpdir(), "holdfast-chart-"));
  for (const name of ["secrets", "state"]) await mkdir(join(directory, name), { mode: 0o700 });
  await writeFile(join(directory, "secrets/users"), `ada:admin:${await hashPassword("correct horse")}\n`, {
    mode: 0o600,
  });
  await writeFile(join(directory, "secrets/prometheus-token"), "0123456789abcdef", { mode: 0o600 });
}, 3_600_000);
afterAll(async () => await rm(directory, { recursive: true }));

function told(program: string, args: readonly string[]): { ok: boolean; text: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: 120_000 });
  return { ok: status === 0, text: `${stdout}${stderr}` };
}

const rendered = (program: string, values: string, version = "1.30") =>
  told(program, ["template", "release", chart, "--kube-version", version, "-f", values]);

async function withValues(values: object): Promise<string> {
  const file = join(directory, "values.yaml");
  // Written as JSON: Helm reads YAML 1.1, in which `yes` and `on` mean true.
  await writeFile(file, JSON.stringify(values));
  return file;
}

describe("the Helm chart", () => {
  it.each(examples)(
    "with the values %s it is without complaint, fits the schemas of Kubernetes, and its configuration is right",
    async (name) => {
      if (helmProgram === null) return;
      const values = join(chart, `ci/${name}-values.yaml`);
      const lint = told(helmProgram, ["lint", "--strict", chart, "-f", values]);
      expect(lint.ok, lint.text).toBe(true);
      for (const version of versions) {
        const { ok, text } = rendered(helmProgram, values, version);
        expect(ok, text).toBe(true);
        const file = join(directory, `${name}.yaml`);
        await writeFile(file, text);
        if (validateProgram !== null) {
          const valid = told(validateProgram, ["--strict", "-k", version, file]);
          expect(valid.ok, valid.text).toBe(true);
        }
      }
      const { text } = rendered(helmProgram, values);
      const objects = parseAllDocuments(text).map(
        (each) => each.toJS() as { kind: string; data?: Record<string, string> },
      );
      const config = objects.find(({ kind }) => kind === "ConfigMap")?.data?.["dashboard.yaml"] ?? "";
      if (name === "read-only") expect(config).toMatch(/^actions: false$/m);
      const file = join(directory, "dashboard.yaml");
      await writeFile(
        file,
        config
          .replaceAll("/run/secrets/holdfast", join(directory, "secrets"))
          .replaceAll("/var/lib/holdfast", join(directory, "state"))
          .replace("port: 8080", "port: 0"),
      );
      const checked = await promisify(execFile)(process.execPath, [cli, "--config", file, "--check"], {
        env: { ...process.env, REDIS_PASSWORD: "secret" },
      });
      expect(checked.stdout).toContain(": right");
    },
  );

  it("refuses values that cannot be right", async () => {
    if (helmProgram === null) return;
    const cluster = { name: "a", redis: { url: "redis://r:6379", patterns: ["*"] } };
    const good = { config: { clusters: [cluster] } };
    expect(rendered(helmProgram, await withValues(good)).ok).toBe(true);
    for (const [values, why] of [
      [{}, "clusters"],
      [{ config: { clusters: [{ name: "a" }] } }, "clusters/0"],
      [{ config: { clusters: [cluster], listen: { port: 1 } } }, "/config"],
      [{ config: { clusters: [cluster], actions: "yes" } }, "actions"],
      [
        { config: { clusters: [cluster], links: [{ title: "a", url: "https://l.example/", true: "lock" }] } },
        "'on'",
      ],
      [{ ...good, replicas: 3 }, "replicas"],
      [{ ...good, ingress: { enabled: true } }, "ingress/host"],
      [{ ...good, auth: { usersKey: "", tokens: [] } }, "nobody can come in"],
    ] as const) {
      const { ok, text } = rendered(helmProgram, await withValues(values));
      expect([ok, text], JSON.stringify(values)).toEqual([false, expect.stringContaining(why)]);
    }
  });
});

it("the manifests fit the schemas of Kubernetes", async () => {
  if (validateProgram === null) return;
  const files = (await readdir(join(ops, "kubernetes"))).filter((name) => name !== "kustomization.yaml");
  for (const version of versions) {
    const valid = told(validateProgram, [
      "--strict",
      "-k",
      version,
      ...files.map((name) => join(ops, "kubernetes", name)),
    ]);
    expect(valid.ok, valid.text).toBe(true);
  }
  const wrong = join(directory, "wrong.yaml");
  await writeFile(
    wrong,
    stringify({ apiVersion: "v1", kind: "Service", metadata: { name: "a" }, spec: { prots: [] } }),
  );
  expect(told(validateProgram, ["--strict", wrong]).ok).toBe(false);
});
