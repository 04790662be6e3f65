import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { hashPassword } from "../../src/index.js";

const ops = new URL("../../ops/", import.meta.url);
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const read = (path: string): Promise<string> => readFile(new URL(path, ops), "utf8");

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-deploy-"));
  for (const name of ["secrets", "state"]) await mkdir(join(directory, name), { mode: 0o700 });
  await writeFile(join(directory, "secrets/users"), `ada:admin:${await hashPassword("correct horse")}\n`, {
    mode: 0o600,
  });
  await writeFile(join(directory, "secrets/prometheus-token"), "0123456789abcdef", { mode: 0o600 });
});
afterAll(async () => await rm(directory, { recursive: true }));

/** Runs the built command with `--check`. Folders of this test replace those that the platform makes. */
async function check(name: string, config: string, secrets: string): Promise<string> {
  const file = join(directory, `${name}.yaml`);
  const here = config
    .replaceAll(secrets, join(directory, "secrets"))
    .replaceAll("/var/lib/holdfast", join(directory, "state"))
    .replace(/port: 8080\b/, "port: 0");
  await writeFile(file, here);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [cli, "--config", file, "--check"]);
  return `${stdout}${stderr}`;
}

describe("the unit of systemd", () => {
  it("comes with a configuration that is right, read-only, and reads what the unit hands over", async () => {
    const unit = await read("systemd/holdfast-dashboard.service");
    const text = await read("systemd/dashboard.yaml");
    const secrets = "/run/credentials/holdfast-dashboard.service";
    expect(await check("systemd", text, secrets)).toMatch(/: right\n$/);
    const config = parse(text) as { actions: boolean };
    expect(config.actions).toBe(false);
    const credentials = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => name);
    const named = [...text.matchAll(/\/run\/credentials\/holdfast-dashboard\.service\/([\w-]+)/g)].map(
      ([, name]) => name,
    );
    expect(named.sort()).toEqual(credentials.sort());
    expect(text).toContain("file: /var/lib/holdfast/");
    expect(unit).toMatch(/^StateDirectory=holdfast$/m);
  });

  it("is right and confined by systemd's own judgement, where that is installed", async () => {
    const version = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
    if (version.error !== undefined) {
      console.log(`not judged: systemd-analyze cannot be run (${version.error.message})`);
      return;
    }
    // Only the program is replaced: systemd-analyze cannot find a program that is not installed here.
    const unit = (await read("systemd/holdfast-dashboard.service")).replace(
      "/usr/bin/holdfast-dashboard",
      process.execPath,
    );
    const judged = async (name: string, text: string): Promise<string> => {
      const file = join(directory, name);
      await writeFile(file, text);
      const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
      return `${stdout}${stderr}`;
    };
    expect(await judged("holdfast-dashboard.service", unit)).toBe("");
    expect(await judged("wrong.service", unit.replace("ProtectHome", "ProtectHomme"))).toContain(
      "ProtectHomme",
    );
    const exposure = (text: string): number => {
      const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", "--no-pager", text], {
        encoding: "utf8",
      });
      return Number(/Overall exposure level[^:]*: ([0-9.]+)/.exec(stdout)?.[1]);
    };
    // The scale ends at 10, which is a service without limits. systemd calls a value below 2 OK.
    expect(exposure(join(directory, "holdfast-dashboard.service"))).toBeLessThan(2);
    const open = unit.replace(/^(Protect|Private|Restrict|System|NoNew|Capab|Dynamic).*\n/gm, "");
    await writeFile(join(directory, "open.service"), open);
    expect(exposure(join(directory, "open.service"))).toBeGreaterThan(5);
  });
});

describe("the manifests of Kubernetes", () => {
  const all = async () => {
    const { resources } = parse(await read("kubernetes/kustomization.yaml")) as { resources: string[] };
    const files = await readdir(new URL("kubernetes/", ops));
    expect([...resources, "kustomization.yaml"].sort()).toEqual(files.sort());
    const objects = new Map<string, Record<string, never>>();
    for (const file of resources)
      for (const document of parseAllDocuments(await read(`kubernetes/${file}`))) {
        expect(document.errors).toEqual([]);
        const object = document.toJS() as { kind: string };
        objects.set(object.kind, object as never);
      }
    return objects;
  };

  it("have a configuration that is right and read-only, with the files that the pod mounts", async () => {
    const objects = await all();
    const config =
      (objects.get("ConfigMap") as unknown as { data: Record<string, string> }).data["dashboard.yaml"] ?? "";
    expect(await check("kubernetes", config, "/run/secrets/holdfast")).toMatch(/: right\n$/);
    expect((parse(config) as { actions: boolean }).actions).toBe(false);
  });

  it("run without rights: no root, no writable root, no token, and nothing but its own ports", async () => {
    const objects = await all();
    expect([...objects.keys()].sort()).toEqual([
      ...["ConfigMap", "Deployment", "NetworkPolicy", "Service", "ServiceAccount"],
    ]);
    const deployment = objects.get("Deployment") as never as {
      spec: {
        template: {
          metadata: { labels: object };
          spec: { [key: string]: unknown; containers: [Record<string, never>]; volumes: { name: string }[] };
        };
      };
    };
    const { metadata, spec } = deployment.spec.template;
    const [container] = spec.containers as unknown as [
      Record<string, unknown> & { volumeMounts: { name: string; subPath?: string }[] },
    ];
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    });
    expect(container).toMatchObject({
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
      livenessProbe: { httpGet: { path: "/healthz", port: "http" } },
      readinessProbe: { httpGet: { path: "/readyz", port: "http" } },
      resources: { requests: { memory: expect.any(String) }, limits: { memory: expect.any(String) } },
    });
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(
      spec.volumes.map(({ name }) => name).sort(),
    );
    for (const mount of container.volumeMounts) expect(mount.subPath).toBeUndefined();
    for (const kind of ["Service", "NetworkPolicy"]) {
      const { selector, podSelector } = (
        objects.get(kind) as never as { spec: { selector?: object; podSelector?: { matchLabels: object } } }
      ).spec;
      expect(selector ?? podSelector?.matchLabels, kind).toEqual(metadata.labels);
    }
  });
});
