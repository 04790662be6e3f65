import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { emit } from "../support/process/emit.js";
import { LineProcess, processState } from "../support/process/line-process.js";

/** Stands in for the JVM: answers each request with the request itself. */
const echo = ["-c", 'while read -r id command rest; do echo "$id ok $command $rest"; done'];

const gone = (pid: number): boolean => [null, "Z"].includes(processState(pid));

describe("a process steered by lines", () => {
  it("gets any text through, also empty words", async () => {
    const child = new LineProcess("sh", echo);
    expect(await child.request("say", ["a b", "", "ü%\n"], 5_000)).toEqual(["say", "a b", "", "ü%\n"]);
    await child.end(5_000);
    expect(gone(child.pid)).toBe(true);
  });

  it("rejects a request that is not answered within its limit", async () => {
    const child = new LineProcess("sleep", ["60"]);
    await expect(child.request("say", ["x"], 50)).rejects.toThrow("no answer to say x within 50 ms");
    await child.kill();
  });

  it("rejects what is outstanding when the process ends, and shows its stderr", async () => {
    const child = new LineProcess("sh", ["-c", "echo out of luck >&2; read -r line; exit 3"]);
    await expect(child.request("say", [], 5_000)).rejects.toThrow(
      /say: the process ended with 3[\s\S]*out of luck/,
    );
    await expect(child.request("say", [], 5_000)).rejects.toThrow("say: the process ended with 3");
  });

  it.each(["running", "stopped"])("dies with a parent that is killed, also while %s", async (how) => {
    await using emitted = await emit("support/process/line-process");
    const script = `
      import { LineProcess } from ${JSON.stringify(emitted.url.href)};
      const child = new LineProcess("sleep", ["600"]);
      console.log(child.pid);
      setInterval(() => {}, 1_000);
    `;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface({ input: parent.stdout }), "line")) as [string];
    const pid = Number(line);
    expect(gone(pid)).toBe(false);
    if (how === "stopped") {
      // The process that guards it is started before this process becomes `sleep`.
      await expect.poll(() => readFile(`/proc/${pid}/comm`, "utf8")).toBe("sleep\n");
      process.kill(pid, "SIGSTOP");
      await expect.poll(() => processState(pid)).toBe("T");
    }
    parent.kill("SIGKILL");
    await expect.poll(() => gone(pid), { timeout: 20_000 }).toBe(true);
  });
});
