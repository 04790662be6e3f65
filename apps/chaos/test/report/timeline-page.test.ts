import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script as VmScript } from "node:vm";
import { describe, expect, it } from "vitest";
import { historyOf } from "../../src/history/read.js";
import { buildTimeline } from "../../src/report/timeline/build-timeline.js";
import { timelineHtml } from "../../src/report/timeline/html.js";
import { joinModules, pageParts } from "../../src/report/timeline/page-parts.js";
import { rawRecords } from "../../src/report/timeline/raw-records.js";
import { Script } from "../support.js";

const folder = fileURLToPath(new URL("../../timeline/", import.meta.url));

describe("the script of the page", () => {
  it("joins every module of the folder, none of which gives a name that another gave", async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith(".js"));
    const { script } = await pageParts();
    const names = new Map<string, string>();
    for (const file of files) {
      const text = await readFile(join(folder, file), "utf8");
      for (const [, name = ""] of text.matchAll(
        /^(?:export )?(?:const|let|function|class|async function) (\w+)/gm,
      )) {
        expect(names.get(name), `${name} in ${file}`).toBeUndefined();
        names.set(name, file);
        expect(script, `${file} is not joined`).toContain(name);
      }
    }
    expect(files.length).toBeGreaterThan(5);
    expect(() => new VmScript(script)).not.toThrow();
    expect(script).not.toMatch(/^(import|export)\b/m);
  });

  it("loses its imports, over several lines too, and the word export", () => {
    const joined = joinModules(['import {\n  a,\n} from "./a.js";\nexport const b = "import c from d;";\n']);
    expect(joined).toContain('\nconst b = "import c from d;";');
    expect(joined).not.toContain("./a.js");
  });
});

describe("the page", () => {
  const hostile = '</script><script>alert(1)</script><img src=x onerror="alert(2)">';
  const script = new Script({ [hostile]: {} }, hostile);
  script.hold("a#0", hostile, 1, 2);
  const data = buildTimeline(historyOf(script.records), null);
  const lines = script.records.map((record) => JSON.stringify(record));

  it("allows its own script and style by their hashes, and nothing else", async () => {
    const parts = await pageParts();
    const page = timelineHtml(data, lines, parts);
    const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
    expect(policy).toBe(
      `default-src 'none'; script-src ${hash(parts.script)}; style-src ${hash(parts.style)}; base-uri 'none'; form-action 'none'`,
    );
    const written = page.slice(page.lastIndexOf("<script>") + 8, page.lastIndexOf("</script>"));
    expect(hash(written)).toBe(hash(parts.script));
    expect(page).not.toMatch(/\b(src|href)="?http/);
  });

  it("cannot be broken out of by what a history says", async () => {
    const page = timelineHtml(data, lines, await pageParts());
    expect(page.match(/<script/g)).toHaveLength(3);
    expect(page).not.toContain("<img");
    const [, json = ""] = /id="data">(.*?)<\/script>/s.exec(page) ?? [];
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(data)));
    const [, raw = ""] = /id="raw">\n(.*?)\n<\/script>/s.exec(page) ?? [];
    expect(raw.split("\n").map((line) => JSON.parse(line))).toEqual(script.records);
  });
});

it("keeps all raw records of a small history, and of a large one those that tell most", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-raw-"));
  try {
    const script = new Script({ k: {} });
    for (let n = 0; n < 50; n++) script.hold("a#0", "k", 10 * n + 1, 10 * n + 5);
    script.fault("zk.kill", 600, 700);
    const path = join(directory, "history.jsonl");
    const lines = script.records.map((record) => JSON.stringify(record));
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    expect(await rawRecords(path, new Set())).toEqual({ lines, partial: false });
    const { lines: some, partial } = await rawRecords(path, new Set([7]), 10_000);
    expect(partial).toBe(true);
    expect(some).toEqual([lines[0], lines[7], ...lines.slice(-2)]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
