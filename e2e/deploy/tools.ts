import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../support/process/run.js";

const cache = fileURLToPath(new URL("../../node_modules/.cache/holdfast-tools", import.meta.url));
const withinMs = 1_500_000;

const helmVersion = "3.22.0";
const kubernetesValidateVersion = "1.37.0";

/** The path of Helm, which Go builds on the first use. `null`, and a line that says why, if it cannot be made. */
export async function helm(): Promise<string | null> {
  const made = join(cache, `helm-${helmVersion}`);
  return await had("helm", join(made, "helm"), "go", async () => {
    const env = { ...process.env, GOBIN: made, GOFLAGS: "" };
    await run("env", [`GOBIN=${env.GOBIN}`, "go", "install", `helm.sh/helm/v3/cmd/helm@v${helmVersion}`], {
      withinMs,
    });
  });
}

/**
 * The path of a program that compares manifests with the schemas of Kubernetes. It is a Python package, installed on the first
 * use. `null` as with `helm`.
 */
export async function kubernetesValidate(): Promise<string | null> {
  const made = join(cache, `kubernetes-validate-${kubernetesValidateVersion}`);
  return await had("kubernetes-validate", join(made, "bin/kubernetes-validate"), "python3", async () => {
    await run("python3", ["-m", "venv", made], { withinMs });
    await run(join(made, "bin/pip"), ["install", "-q", `kubernetes-validate==${kubernetesValidateVersion}`], {
      withinMs,
    });
  });
}

async function had(
  name: string,
  program: string,
  maker: string,
  make: () => Promise<void>,
): Promise<string | null> {
  if (existsSync(program)) return program;
  if (spawnSync(maker, ["--help"]).error !== undefined)
    return missing(`${maker}, which makes it, is not installed`);
  try {
    await mkdir(cache, { recursive: true });
    await make();
    return program;
  } catch (error) {
    return missing((error as Error).message);
  }

  function missing(why: string): null {
    console.log(`without ${name}: ${why}`);
    return null;
  }
}
