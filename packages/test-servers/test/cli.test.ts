import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeScratchFolder } from "../src/process/scratch-folder.js";
import { emitSources } from "./support/emitted.js";

let emitted: string;
let empty: string;

beforeAll(async () => {
  emitted = await emitSources();
  empty = makeScratchFolder("empty");
});

afterAll(() => {
  rmSync(emitted, { recursive: true });
  rmSync(empty, { recursive: true });
});

async function cli(
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [join(emitted, "cli.js"), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  const [code] = await once(child, "close");
  return { code, out, err };
}

test("--help prints the usage, for each command too", async () => {
  for (const args of [["--help"], ["ensure", "--help"], ["zookeeper", "-h"]]) {
    const { code, out, err } = await cli(args);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(
      "holdfast-servers ensure [--only java,javac,maven,zookeeper,curator,python3,kazoo,redis,postgresql,pgbouncer,chromium,promtool,compose-schema,iproute2]",
    );
  }
});

test.each([
  [[], "which command?"],
  [["instal"], "there is no command instal"],
  [["ensure", "--all"], "--all"],
  [["ensure", "zookeeper"], "zookeeper"],
  [
    ["ensure", "--only", "zookeeper,mysql"],
    '"mysql" is none of java, javac, maven, zookeeper, curator, python3, kazoo, redis, postgresql, pgbouncer, chromium, promtool, compose-schema, iproute2',
  ],
  [["ensure", "--only", ""], '"" is none of'],
  [["zookeeper", "--nodes", "0"], '--nodes: "0" is not a whole number from 1 to 9'],
  [["zookeeper", "--nodes", "3", "--port", "65535"], '--port: "65535" is not a whole number from 1 to 65533'],
  [["zookeeper", "--port", "2e3"], '"2e3"'],
  [["redis", "--kind", "ring"], '"ring" is none of single, sentinel, cluster'],
  [["redis", "--kind", "cluster", "--port", "7000"], "--port goes with --kind single"],
])("%j is a usage error with exit code 2", async (args, message) => {
  const { code, out, err } = await cli(args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
  expect(err).toContain("Usage:");
});

test("ensure says exactly what to do where it cannot install, and exits with 1", async () => {
  // With an empty PATH neither Java nor apt-get is found.
  const { code, out, err } = await cli(["ensure", "--only", "java,zookeeper"], {
    PATH: empty,
    JAVA_HOME: "",
  });
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("Missing: a Java runtime, 11 or later, an Apache ZooKeeper server.");
  expect(err).toContain(
    "apt-get install -y --no-install-recommends default-jre-headless libzookeeper-java libslf4j-java\n",
  );
  expect(err).toContain("set ZOOKEEPER_HOME to its folder");
});

test("ensure keeps PostgreSQL's package from starting a service, also where it only says what to do", async () => {
  const { code, err } = await cli(["ensure", "--only", "postgresql"], { PATH: empty, POSTGRES_BIN: empty });
  expect(code).toBe(1);
  const setting = "echo 'create_main_cluster = off' >>/etc/postgresql-common/createcluster.conf\n";
  expect(err).toContain(`${setting}  apt-get install -y --no-install-recommends postgresql\n`);
  expect(err).toContain("set POSTGRES_BIN to the folder");
});

test("ensure asks apt-get once for all that is missing, as root, and is silent when it is there", async () => {
  // A stand-in for apt-get, which records its arguments and "installs" Java.
  const bin = makeScratchFolder("bin");
  const asked = join(bin, "asked");
  const script = `#!/bin/sh\necho "$@" >>${asked}\n[ "$5" = install ] && printf '#!/bin/sh\\n' >${bin}/java && /bin/chmod +x ${bin}/java\nexit 0\n`;
  writeFileSync(join(bin, "apt-get"), script, { mode: 0o755 });
  const env = { PATH: bin, JAVA_HOME: "" };
  const first = await cli(["ensure", "--only", "java"], env);
  if (process.getuid?.() === 0) {
    expect(first).toMatchObject({ code: 0, out: "" });
    expect(first.err).toBe(
      "holdfast-servers: missing: a Java runtime, 11 or later; installing default-jre-headless\n",
    );
    const options = "-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3";
    expect(readFileSync(asked, "utf8")).toBe(
      `${options} update -qq\n${options} install -y -qq --no-install-recommends default-jre-headless\n`,
    );
    expect(await cli(["ensure", "--only", "java"], env)).toEqual({ code: 0, out: "", err: "" });
  } else {
    expect(first.code).toBe(1);
    expect(first.err).toContain("On Debian or Ubuntu, as root:");
  }
  rmSync(bin, { recursive: true });
});

test("ensure shows what apt-get said when it fails, or that it did not help", async () => {
  const bin = makeScratchFolder("bin");
  const env = { PATH: bin, JAVA_HOME: "" };
  writeFileSync(join(bin, "apt-get"), "#!/bin/sh\necho 'E: no network' >&2\nexit 100\n", { mode: 0o755 });
  const failed = await cli(["ensure", "--only", "java"], env);
  writeFileSync(join(bin, "apt-get"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  const useless = await cli(["ensure", "--only", "java"], env);
  expect([failed.code, useless.code]).toEqual([1, 1]);
  if (process.getuid?.() === 0) {
    expect(failed.err).toContain("apt-get update -qq ended with 100:\nE: no network");
    expect(useless.err).toContain("cannot be found");
  }
  rmSync(bin, { recursive: true });
});
