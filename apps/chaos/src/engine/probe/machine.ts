import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findJava, findProgram, findRedis } from "@holdfast/test-servers";
import { limitOpenFiles, openFileLimit } from "../limits/open-files.js";
import { runProgram } from "../machine/run-program.js";
import { allowedNamespaces, insideCommand } from "../network/enter.js";
import { insideNamespaces, type NamespaceKind } from "../network/inside.js";
import { bytecodeOf } from "../network/packet-filter.js";
import { buildShims, findCompiler } from "../shims/build.js";
import { type Finding, found, lacks } from "./finding.js";

const words: Readonly<Record<NamespaceKind, string>> = {
  userns: "in a user namespace",
  netns: "as root",
};

const noNamespaces =
  "neither user namespaces (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, " +
  "user.max_user_namespaces; a container also needs a seccomp profile that allows unshare) nor root with CAP_SYS_ADMIN";

/** A script that tries everything that a switch needs, in namespaces that are gone when it has ended. */
const trySwitch = `
ip link set lo up
ip link add holdfast type bridge
ip link add hf0 type veth peer name hf1
ip link set hf0 master holdfast up
tc qdisc add dev hf0 clsact
tc filter replace dev hf0 egress protocol all pref 1 handle 1 bpf direct-action bytecode "$PROGRAM"
nsenter --net=/proc/self/ns/net true
`;

/** Runs a script in namespaces of its own. Resolves with the kind of namespaces that worked, or the reason why it failed. */
async function tryInside(script: string): Promise<{ kind: NamespaceKind } | { reason: string }> {
  const inside = insideNamespaces();
  const kind = inside ?? (await allowedNamespaces());
  if (kind === undefined) return { reason: noNamespaces };
  const PROGRAM = bytecodeOf({ by: "source", drop: ["10.99.0.10"], loss: 0.5 });
  try {
    await runProgram(...insideCommand(kind, script), { env: { ...process.env, PROGRAM } });
    return { kind };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

export async function probeNamespaces(): Promise<Finding> {
  const missing = ["unshare", "nsenter", "ip", "tc"].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    return lacks(`no ${missing.join(", ")}`, "apt-get install -y iproute2 util-linux");
  }
  const tried = await tryInside(trySwitch);
  if ("kind" in tried) return found(`bridge, veth and packet filter ${words[tried.kind]}`);
  const remedy =
    tried.reason === noNamespaces
      ? "allow user namespaces, or run as root"
      : "a kernel with bridge, veth, clsact and cls_bpf";
  return lacks(tried.reason, remedy);
}

export async function probeSmallDisk(): Promise<Finding> {
  const missing = ["unshare", "mount"].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return lacks(`no ${missing.join(", ")}`, "apt-get install -y mount util-linux");
  const tried = await tryInside("mount -t tmpfs -o size=1m,mode=0700 holdfast /mnt");
  if ("kind" in tried) return found(`tmpfs ${words[tried.kind]}`);
  return lacks(tried.reason, "allow user namespaces, or run as root");
}

/** Builds the shim and checks that it works in each program for which faults use it. */
export async function probeShims(): Promise<Finding> {
  const compiler = findCompiler();
  if (compiler === undefined) return lacks("no C compiler", "apt-get install -y gcc libc6-dev");
  const folder = await mkdtemp(join(tmpdir(), "holdfast-probe-"));
  try {
    const shims = await buildShims(folder);
    const programs: [name: string, program: string | undefined, args: string[]][] = [
      ["node", process.execPath, ["-e", "Date.now()"]],
      ["redis-server", findRedis()?.server, ["--version"]],
      ["java", findJava(), ["-Xshare:auto", "-version"]],
    ];
    const there = programs.filter((row): row is [string, string, string[]] => row[1] !== undefined);
    const reads = await Promise.all(
      there.map(async ([name, program, args]) => {
        const handle = shims.handle(name);
        try {
          handle.setWallClock(3_600_000);
          await runProgram(program, args, { argv0: name, env: { ...process.env, ...handle.env } });
          return { name, turned: handle.counts().wallReads > 0 };
        } finally {
          handle.close();
        }
      }),
    );
    const deaf = reads.filter(({ turned }) => !turned).map(({ name }) => name);
    if (deaf.length > 0) {
      return lacks(
        `${deaf.join(", ")} does not load it`,
        "dynamically linked builds of these programs (glibc)",
      );
    }
    return found(`${compiler}; turns ${reads.map(({ name }) => name).join(", ")}`);
  } catch (error) {
    return lacks((error as Error).message, "apt-get install -y gcc libc6-dev");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Tries the limit on a child process of our own. */
export async function probeLimits(): Promise<Finding> {
  if (findProgram("prlimit") === undefined) {
    return lacks("no prlimit", "apt-get install -y util-linux");
  }
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  const ended = once(child, "close");
  try {
    await once(child, "spawn");
    const pid = child.pid ?? 0;
    const before = openFileLimit(pid).soft;
    const restore = await limitOpenFiles(pid, 20);
    const lowered = openFileLimit(pid).soft;
    await restore();
    if (lowered !== 20 || openFileLimit(pid).soft !== before) {
      return lacks(`a limit of 20 files became ${lowered}`, "run where prlimit may change a child's limits");
    }
    return found("prlimit lowers and restores the limit of open files");
  } catch (error) {
    return lacks((error as Error).message, "run where prlimit may change a child's limits");
  } finally {
    child.stdin?.end();
    await ended;
  }
}
