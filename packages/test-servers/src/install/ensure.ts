import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { NotInstalledError } from "../errors.js";
import {
  findChromium,
  findComposeSchema,
  findCurator,
  findJava,
  findJavac,
  findKazoo,
  findPgBouncer,
  findPostgres,
  findProgram,
  findPromtool,
  findPython,
  findRedis,
  findZooKeeper,
  type PostgresInstall,
  type RedisInstall,
  unpackedFolder,
  type ZooKeeperInstall,
} from "./installs.js";
import { runApt } from "./run-apt.js";
import { type UnpackedFile, unpack } from "./unpack.js";

/** What `ensure` can look for and install. */
export const componentNames = [
  "java",
  "javac",
  "maven",
  "zookeeper",
  "curator",
  "python3",
  "kazoo",
  "redis",
  "postgresql",
  "pgbouncer",
  "chromium",
  "promtool",
  "compose-schema",
  "iproute2",
] as const;
/** One of the components that `holdfast-servers ensure` can install. */
export type ComponentName = (typeof componentNames)[number];

interface Component {
  what: string;
  found: () => unknown;
  packages: readonly string[];
  /** A file that is taken out of a package, without installing the package. */
  file?: UnpackedFile;
  /** A file that is written before the packages are installed, unless it exists. */
  setting?: { readonly path: string; readonly text: string };
}

const components: Readonly<Record<ComponentName, Component>> = {
  java: { what: "a Java runtime, 11 or later", found: findJava, packages: ["default-jre-headless"] },
  javac: { what: "a Java compiler, 11 or later", found: findJavac, packages: ["default-jdk-headless"] },
  maven: {
    what: "Maven, which fetches Java libraries",
    found: () => findProgram("mvn"),
    packages: ["maven"],
  },
  zookeeper: {
    what: "an Apache ZooKeeper server",
    found: findZooKeeper,
    // Only the library. The package `zookeeper` adds a user and configuration files; `zookeeperd` would start a service
    // on port 2181. The server class is in the library's jar.
    packages: ["libzookeeper-java", "libslf4j-java", "default-jre-headless"],
  },
  curator: {
    what: "Apache Curator's recipes",
    found: findCurator,
    packages: ["libcurator-recipes-java", "libslf4j-java"],
  },
  python3: { what: "Python 3", found: findPython, packages: ["python3"] },
  kazoo: {
    what: "kazoo, the ZooKeeper client for Python",
    found: findKazoo,
    packages: ["python3", "python3-kazoo"],
  },
  redis: {
    what: "a Redis server",
    found: findRedis,
    // Only the tools. The packages `redis-server` and `redis-sentinel` add links to a program of this package, and
    // services that would be started on ports 6379 and 26379.
    packages: ["redis-tools"],
  },
  postgresql: {
    what: "a PostgreSQL server",
    found: findPostgres,
    packages: ["postgresql"],
    // Without this setting the package makes a database of its own and starts a service for it on port 5432.
    setting: { path: "/etc/postgresql-common/createcluster.conf", text: "create_main_cluster = off\n" },
  },
  pgbouncer: {
    what: "PgBouncer",
    found: findPgBouncer,
    // The package starts a service on port 6432. The program alone needs two libraries.
    packages: ["libevent-2.1-7", "libc-ares2"],
    file: { packageName: "pgbouncer", path: "usr/sbin/pgbouncer", mode: 0o755 },
  },
  chromium: {
    what: "the browser Chromium",
    found: findChromium,
    // The package only recommends fonts, and recommended packages are not installed here. Without a font, a page has no
    // letters.
    packages: ["chromium", "fonts-dejavu-core"],
  },
  promtool: {
    what: "promtool, Prometheus' checker of rules and metrics",
    found: findPromtool,
    packages: [],
    // The package `prometheus` starts a service on port 9090, and brings a dozen others for its pages.
    file: { packageName: "prometheus", path: "usr/bin/promtool", mode: 0o755 },
  },
  "compose-schema": {
    what: "the JSON schema of Compose files",
    found: findComposeSchema,
    packages: [],
    // The package `docker-compose` brings Python libraries and, where Docker is, talks to it. The schema needs neither.
    file: {
      packageName: "docker-compose",
      path: "usr/lib/python3/dist-packages/compose/config/compose_spec.json",
      mode: 0o644,
    },
  },
  iproute2: {
    what: "ip and tc, which make networks of their own",
    found: () => findProgram("ip") && findProgram("tc"),
    packages: ["iproute2"],
  },
};

/** What `ensure()` takes. */
export interface EnsureOptions {
  /** Default: all. */
  only?: readonly ComponentName[];
  /** Called with one line for each thing that is being installed. Default: none. */
  onProgress?: (line: string) => void;
}

/**
 * Installs what is missing, if this machine allows it: root on Debian or Ubuntu. Nothing that it installs starts a
 * service. Returns at once when nothing is missing.
 *
 * @throws NotInstalledError with the commands to type if it cannot install, or with the end of apt's output if the
 * installation failed.
 */
export async function ensure(options: EnsureOptions = {}): Promise<void> {
  const missing = missingOf(options.only ?? componentNames);
  if (missing.length === 0) return;
  const names = missing.map((name) => components[name].what).join(", ");
  if (
    missing.includes("zookeeper") &&
    (process.env.ZOOKEEPER_HOME ?? "") !== "" &&
    findJava() !== undefined
  ) {
    throw new NotInstalledError(
      `ZOOKEEPER_HOME is ${process.env.ZOOKEEPER_HOME}, but there is no zookeeper-<version>.jar in its lib folder.\n` +
        "Point it to an unpacked release of Apache ZooKeeper, or unset it.",
    );
  }
  if (missing.includes("redis") && (process.env.REDIS_SERVER ?? "") !== "") {
    throw new NotInstalledError(
      `REDIS_SERVER is ${process.env.REDIS_SERVER}, which is not a program.\n` +
        "Point it to a redis-server, or unset it.",
    );
  }
  const packages = [...new Set(missing.flatMap((name) => components[name].packages))];
  const files = missing.flatMap((name) => components[name].file ?? []);
  const settings = missing.flatMap((name) => components[name].setting ?? []);
  const apt = findProgram("apt-get");
  if (apt === undefined || process.getuid?.() !== 0)
    throw new NotInstalledError(whatToDo(names, missing, packages, files));

  const brought = [
    ...packages,
    ...files.map(({ packageName, path }) => `${basename(path)} of ${packageName}`),
  ];
  options.onProgress?.(`missing: ${names}; installing ${brought.join(" ")}`);
  for (const { path, text } of settings) {
    if (existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  await runApt(apt, ["update", "-qq"]);
  if (packages.length > 0)
    await runApt(apt, ["install", "-y", "-qq", "--no-install-recommends", ...packages]);
  for (const file of files) await unpack(apt, file, unpackedFolder);
  const still = missingOf(missing);
  if (still.length > 0) {
    throw new NotInstalledError(
      `apt-get installed ${brought.join(" ")}, but ${still.map((name) => components[name].what).join(", ")} ` +
        "cannot be found where Debian 12 puts it.",
    );
  }
}

/** Runs `ensure` for what `startZooKeeper` needs, then returns what `findZooKeeper` finds. */
export async function ensureZooKeeper(options: Omit<EnsureOptions, "only"> = {}): Promise<ZooKeeperInstall> {
  await ensure({ ...options, only: ["java", "zookeeper"] });
  return requireZooKeeper();
}

/** The server to start, or an error that says how to get one. */
export function requireZooKeeper(): ZooKeeperInstall {
  return required(findZooKeeper(), "ZooKeeper server", "java,zookeeper");
}

/** Runs `ensure` for what `startRedis` and the other Redis starters need, then returns what `findRedis` finds. */
export async function ensureRedis(options: Omit<EnsureOptions, "only"> = {}): Promise<RedisInstall> {
  await ensure({ ...options, only: ["redis"] });
  return requireRedis();
}

/** The server to start, or an error that says how to get one. */
export function requirePostgres(): PostgresInstall {
  return required(findPostgres(), "PostgreSQL server", "postgresql");
}

/** The program, or an error that says how to get it. */
export function requirePgBouncer(): string {
  return required(findPgBouncer(), "PgBouncer", "pgbouncer");
}

/** The program, or an error that says how to get it. */
export function requirePromtool(): string {
  return required(findPromtool(), "promtool", "promtool");
}

/** The program, or an error that says how to get it. */
export function requireChromium(): string {
  return required(findChromium(), "Chromium", "chromium");
}

/** The file, or an error that says how to get it. */
export function requireComposeSchema(): string {
  return required(findComposeSchema(), "schema of Compose files", "compose-schema");
}

function required<T>(found: T | undefined, what: string, only: string): T {
  if (found !== undefined) return found;
  throw new NotInstalledError(`no ${what} on this machine; run: npx holdfast-servers ensure --only ${only}`);
}

/** The server to start, or an error that says how to get one. */
export function requireRedis(): RedisInstall {
  return required(findRedis(), "Redis server", "redis");
}

function missingOf(names: readonly ComponentName[]): ComponentName[] {
  return names.filter((name) => components[name].found() === undefined);
}

function whatToDo(
  names: string,
  missing: readonly ComponentName[],
  packages: readonly string[],
  files: readonly UnpackedFile[],
): string {
  const lines = [`Missing: ${names}.`, "On Debian or Ubuntu, as root:", "  apt-get update"];
  for (const { path, text } of missing.flatMap((name) => components[name].setting ?? []))
    lines.push(`  mkdir -p ${dirname(path)} && echo '${text.trim()}' >>${path}`);
  if (packages.length > 0) lines.push(`  apt-get install -y --no-install-recommends ${packages.join(" ")}`);
  for (const { packageName, path, mode } of files) {
    const place = join(unpackedFolder, basename(path));
    lines.push(
      `  apt-get download ${packageName} && dpkg-deb -x ${packageName}_*.deb unpacked && ` +
        `install -D -m ${mode.toString(8)} unpacked/${path} ${place}`,
    );
  }
  if (missing.includes("java") || missing.includes("javac")) {
    lines.push("Elsewhere: install a JDK of version 11 or later and set JAVA_HOME or PATH.");
  }
  if (missing.includes("zookeeper")) {
    lines.push(
      "Elsewhere: unpack a release of Apache ZooKeeper (3.5.1 or later) and set ZOOKEEPER_HOME to its folder.",
    );
  }
  if (missing.includes("curator")) {
    lines.push(`Elsewhere: ${components.curator.what} are looked for in /usr/share/java only.`);
  }
  if (missing.includes("redis")) {
    lines.push(
      "Elsewhere: install Redis (7.0 or later) and put redis-server on PATH, or set REDIS_SERVER to it.",
    );
  }
  if (missing.includes("postgresql")) {
    lines.push("Elsewhere: install PostgreSQL and set POSTGRES_BIN to the folder of its program initdb.");
  }
  if (missing.includes("pgbouncer")) {
    lines.push("Elsewhere: install PgBouncer and put pgbouncer on PATH, or set PGBOUNCER to it.");
  }
  if (missing.includes("chromium")) {
    lines.push("Elsewhere: install Chromium or Chrome and set CHROMIUM to the program.");
  }
  if (missing.includes("promtool")) {
    lines.push("Elsewhere: unpack a release of Prometheus and put promtool on PATH, or set PROMTOOL to it.");
  }
  if (missing.includes("compose-schema")) {
    lines.push("Elsewhere: set COMPOSE_SCHEMA to a compose-spec.json of the Compose Specification.");
  }
  if (missing.includes("kazoo")) lines.push("Elsewhere: make kazoo importable for the python3 on PATH.");
  return lines.join("\n");
}
