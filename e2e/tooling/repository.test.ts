import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Owner, ownedFiles, ownerFields, readOwner } from "../../scripts/owner.mjs";
import { slow } from "../../scripts/slow-first.mjs";
import { run } from "../support/process/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): Promise<string> => readFile(join(root, file), "utf8");
const workflows = (await readdir(join(root, ".github/workflows"))).map((name) => `.github/workflows/${name}`);

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly name?: string;
  readonly on?: unknown;
  readonly permissions?: unknown;
  readonly jobs?: Readonly<
    Record<string, { "runs-on"?: unknown; "timeout-minutes"?: number; steps?: readonly Step[] }>
  >;
}

function actionlint(): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), join(homedir(), "go/bin")];
  return folders.map((folder) => join(folder, "actionlint")).find((file) => existsSync(file));
}

describe("the workflows", () => {
  it.each(workflows)(
    "%s has a name, a trigger, least rights, and jobs that end and whose steps can run",
    async (file) => {
      const { name, on, permissions, jobs = {} } = parse(await read(file)) as Workflow;
      expect({ name, on, permissions }).toEqual({
        name: expect.any(String),
        on: expect.anything(),
        permissions: { contents: "read" },
      });
      const { scripts } = JSON.parse(await read("package.json")) as { scripts: Record<string, string> };
      const known = new Set([...Object.keys(scripts), "ci"]);
      const wrong: string[] = [];
      for (const [id, job] of Object.entries(jobs)) {
        if (job["runs-on"] === undefined || !job["timeout-minutes"])
          wrong.push(`${id}: no machine or no limit`);
        for (const { uses, run: command } of job.steps ?? []) {
          if ((uses === undefined) === (command === undefined)) wrong.push(`${id}: a step does one thing`);
          if (uses !== undefined && !/^[\w-]+\/[\w-]+@v\d+$/.test(uses)) wrong.push(`${id}: ${uses}`);
          for (const [, script = ""] of command?.matchAll(/npm (?:run )?([\w:]+)/g) ?? [])
            if (!known.has(script)) wrong.push(`${id}: there is no npm script ${script}`);
          for (const [path] of command?.matchAll(/(?:apps|packages|scripts)\/[\w./-]+/g) ?? []) {
            const source = path.replace("/dist/", "/src/").replace(/(?<=\/src\/.*)\.js$/, ".ts");
            if (!existsSync(join(root, source))) wrong.push(`${id}: there is no ${path}`);
          }
        }
      }
      expect(Object.keys(jobs).length).toBeGreaterThan(0);
      expect(wrong).toEqual([]);
    },
  );

  const program = actionlint();
  if (program !== undefined)
    it("pass actionlint", async () => {
      expect(await run(program, workflows, { cwd: root, withinMs: 30_000 })).toBe("");
    });

  it("run everything on each Node.js that is supported, and the unit tests on the other systems", async () => {
    const { jobs } = parse(await read(".github/workflows/ci.yml"));
    expect(jobs.test.strategy.matrix.node).toEqual([20, 22, 24, 26]);
    expect(jobs.unit.strategy.matrix.os).toEqual(["macos-latest", "windows-latest"]);
  });
});

describe("what depends on the owner", () => {
  const filled: Owner = {
    owner: "@acme/locks",
    repository: "https://github.com/acme/holdfast",
    homepage: "https://locks.example",
    securityContact: "security@locks.example",
  };

  it("stands in the repository as project.json has it (node scripts/owner.mjs writes it)", async () => {
    for (const [file, text] of Object.entries(await ownedFiles(await readOwner())))
      expect(existsSync(join(root, file)) ? await read(file) : null, file).toBe(text);
  });

  it("is in the manifests, the forms and the security page once the owner has filled it in", async () => {
    expect(ownerFields(filled, "packages/core")).toMatchObject({
      repository: { url: "git+https://github.com/acme/holdfast.git", directory: "packages/core" },
      bugs: "https://github.com/acme/holdfast/issues",
      homepage: "https://locks.example",
    });
    const files = await ownedFiles(filled);
    expect(files[".github/CODEOWNERS"]).toBe("* @acme/locks\n");
    expect(files["SECURITY.md"]).toContain("security@locks.example");
    expect(parse(files[".github/ISSUE_TEMPLATE/config.yml"] ?? "").contact_links).toHaveLength(2);
  });

  it("is left out where it is empty", async () => {
    const empty: Owner = { owner: "", repository: "", homepage: "", securityContact: "" };
    expect(ownerFields(empty, "packages/core")).toEqual({});
    const files = await ownedFiles(empty);
    expect(files[".github/CODEOWNERS"]).toBeNull();
    expect(parse(files[".github/ISSUE_TEMPLATE/config.yml"] ?? "")).toEqual({ blank_issues_enabled: false });
    expect(files["SECURITY.md"]).not.toContain("http");
  });
});

describe("the issue forms", () => {
  it.each(["bug", "idea"])("%s asks for what is needed, each field under a name of its own", async (name) => {
    const form = parse(await read(`.github/ISSUE_TEMPLATE/${name}.yml`));
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const fields: { type: string; id?: string; attributes: { label?: string } }[] = form.body;
    const asked = fields.filter(({ type }) => type !== "markdown");
    expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length);
    for (const { type, attributes } of asked) {
      expect(["textarea", "input", "dropdown", "checkboxes"]).toContain(type);
      expect(attributes.label).toEqual(expect.any(String));
    }
  });
});

it("a release raises all packages together, and leaves the private ones alone", async () => {
  const config = JSON.parse(await read(".changeset/config.json"));
  const manifests = await Promise.all(
    ["apps/bench", "apps/order-stock", "apps/trials", "e2e", "examples"].map(async (folder) =>
      JSON.parse(await read(`${folder}/package.json`)),
    ),
  );
  expect(config.ignore).toEqual(manifests.map(({ name }) => name));
  expect(manifests.every((manifest) => manifest.private === true)).toBe(true);
});

it("each slow test file that starts before the others is still there under its name", async () => {
  const folders = ["e2e", "apps", "packages"];
  const found = await Promise.all(folders.map((folder) => readdir(join(root, folder), { recursive: true })));
  const files = folders.flatMap((folder, i) => (found[i] ?? []).map((file) => `${folder}/${file}`));
  const tests = files.filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"));
  expect(slow.filter((part) => !tests.some((file) => file.includes(part)))).toEqual([]);
});

it("editors and version managers take what the project takes", async () => {
  const { indentWidth } = JSON.parse(await read("biome.json")).formatter;
  expect(await read(".editorconfig")).toContain(`indent_size = ${indentWidth}\n`);
  const { engines } = JSON.parse(await read("package.json"));
  expect(Number(await read(".nvmrc"))).toBeGreaterThanOrEqual(Number.parseInt(engines.node.slice(2), 10));
});
