import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { eventually } from "@holdfast/test-servers";
import { afterEach, beforeAll, expect, test } from "vitest";
import { buildPackages } from "../../../e2e/support/process/emit.js";
import { inFullRuns } from "../../../e2e/support/share.js";
import { liveHelp, parseLiveOptions } from "../src/live/options.js";
import { childrenOf, isGone, programs } from "./support.js";

beforeAll(() => buildPackages("@holdfast/order-stock"), 180_000);

const running: ChildProcess[] = [];

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

function live(...args: string[]) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("live.js", programs)), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a process group of its own, as a command in a terminal has
  });
  running.push(child);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  return { child, output, pid: child.pid as number, closed: once(child, "close") };
}

interface Row {
  readonly key: string;
  readonly state: string;
  readonly waiterCount: number | null;
}

test("within seconds the dashboard shows contention, prices, permits and a leader, and ctrl-C ends it all", async () => {
  const { pid, output, closed } = live("--port", "0");
  let url = "";
  await eventually(
    () => {
      url = /Dashboard: (http:\S+)/.exec(output.stdout)?.[1] ?? "";
      return url !== "";
    },
    { what: "the URL of the dashboard", withinMs: 40_000, detail: () => JSON.stringify(output) },
  );
  const seen = new Map<string, Set<string>>();
  const backends = output.stdout.includes("Redis at") ? ["/holdfast/", "order-stock:"] : ["/holdfast/"];
  const expected = backends.flatMap((prefix) => [
    `${prefix}item-1 contended`,
    `${prefix}price-list held`,
    `${prefix}packing-stations`,
    `${prefix}stocktaking contended`,
  ]);
  const missing = () =>
    [...expected, "night-shift contended"].filter((each) => {
      const [name = "", state] = each.split(" ");
      return ![...seen].some(
        ([key, states]) => key.includes(name) && (state === undefined || states.has(state)),
      );
    });
  await eventually(
    async () => {
      const { rows } = (await (await fetch(`${url}api/v1/locks?limit=100`)).json()) as { rows: Row[] };
      for (const { key, state } of rows) seen.set(key, (seen.get(key) ?? new Set()).add(state));
      return missing().length === 0;
    },
    { what: "every kind of lock on the dashboard", withinMs: 20_000, detail: () => missing().join(", ") },
  );
  const children = childrenOf(pid);
  expect(children.filter(({ command }) => command.includes("branch.js"))).toHaveLength(8);
  process.kill(-pid, "SIGINT");
  expect(await closed).toEqual([0, null]);
  expect(children.filter((child) => !isGone(child.pid))).toEqual([]);
  expect(output.stderr).toBe(
    "order-stock: giving back every lock; once more to stop at once\norder-stock: everything is stopped\n",
  );
});

const besides = inFullRuns("kills of the live demo", 1, test);
besides("killed, it leaves no process behind", async () => {
  const { child, pid, output, closed } = live("--port", "0");
  await eventually(() => output.stdout.includes("Dashboard: "), {
    what: "the URL of the dashboard",
    withinMs: 40_000,
    detail: () => JSON.stringify(output),
  });
  const children = childrenOf(pid);
  child.kill("SIGKILL");
  await closed;
  await eventually(() => children.every((each) => isGone(each.pid)), {
    what: "every process of the demo to be gone",
    withinMs: 20_000,
  });
});

test("wrong options end with exit code 2 and a hint", async () => {
  const { output, closed } = live("--prot", "1");
  expect(await closed).toEqual([2, null]);
  expect(output.stderr).toContain("--prot");
  expect(output.stderr).toContain("--help");
});

test("options are read, and a port that is none is refused", () => {
  expect(parseLiveOptions([])).toEqual({ help: false, port: null });
  expect(parseLiveOptions(["--port", "8081", "--help"])).toEqual({ help: true, port: 8081 });
  for (const wrong of ["70000", "x", "1e3"])
    expect(() => parseLiveOptions(["--port", wrong])).toThrow("--port");
  expect(liveHelp).toContain("--port");
});
