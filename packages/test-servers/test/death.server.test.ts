import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawn } from "../../../e2e/support/share.js";
import { eventually } from "../src/index.js";
import { emitSources } from "./support/emitted.js";
import { isGone, isRunning, type RunningModule, runModule } from "./support/processes.js";

let emitted: string;

beforeAll(async () => {
  emitted = await emitSources();
});

afterAll(() => rmSync(emitted, { recursive: true }));

/** A program that starts a server, prints its pid and data folder, and then runs `last`. */
function programThat(last: string): Promise<RunningModule> {
  return runModule(`
    import { startZooKeeper } from ${JSON.stringify(pathToFileURL(join(emitted, "zookeeper/start.js")))};
    const server = await startZooKeeper();
    console.log(JSON.stringify({ server: server.pid, dataDir: server.dataDir }));
    ${last}
  `);
}

test("a server lives as long as its program, and neither java nor data are left when the program is killed with SIGKILL", async () => {
  const { pid, said, ended } = await programThat("setInterval(() => {}, 1_000);");
  expect(isRunning(Number(said.server))).toBe(true);
  expect(existsSync(String(said.dataDir))).toBe(true);
  process.kill(pid, "SIGKILL");
  await nothingLeft({ said, ended });
});

test.each(
  drawn(
    "other ends of a program",
    [
      [
        "is killed with SIGKILL while the server is paused",
        "await server.pause(); process.kill(process.pid, 'SIGKILL');",
      ],
      ["throws", "throw new Error('on purpose');"],
      ["forgets to stop it", ""],
    ],
    1,
    ([end]) => end,
  ),
)("neither java nor data are left when a program %s", async (_, last) => {
  const { said, ended } = await programThat(last);
  await nothingLeft({ said, ended });
});

async function nothingLeft({ said, ended }: Pick<RunningModule, "said" | "ended">): Promise<void> {
  await ended;
  await isGone(Number(said.server));
  await eventually(() => !existsSync(String(said.dataDir)), { what: "the data to be removed" });
}
