import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** A ZooKeeper server that can be started on this machine. */
export interface ZooKeeperInstall {
  /** The `java` to run it with. */
  java: string;
  /** Class path with the server and what it needs, logging included. */
  classPath: string;
  /** Where it was found: the folder named by `ZOOKEEPER_HOME`, or Debian's `/usr/share/java`. */
  from: string;
}

/** Apache Curator's recipes with what they need. */
export interface CuratorInstall {
  /** The argument for `java -cp`. */
  classPath: string;
  /** Where it was found. */
  from: string;
}

/** A Redis server that can be started on this machine, also as Sentinel. */
export interface RedisInstall {
  /** The program `redis-server`. */
  server: string;
  /** Where it was found: `REDIS_SERVER`, `PATH` or Debian's `/usr/bin`. */
  from: string;
}

/** A PostgreSQL server that can be started on this machine. */
export interface PostgresInstall {
  /** The program `initdb`, which makes a data folder. */
  initdb: string;
  /** The program `postgres`, which serves that folder. */
  server: string;
  /** The folder of both: `POSTGRES_BIN`, Debian's folder or one of `PATH`. */
  from: string;
}

/** The Python client library of ZooKeeper. */
export interface KazooInstall {
  /** The `python3` that can import it. On Debian this is the system's own, whatever comes first on `PATH`. */
  python: string;
  /** Where it was found. */
  from: string;
}

const debianJars = "/usr/share/java";
const debianPython = "/usr/bin/python3";
/** The server program itself, under the name by which it checks snapshots. */
const debianRedis = "/usr/bin/redis-check-rdb";
/** It has one folder for each version, with the programs in its `bin`. They are not on `PATH`. */
const debianPostgres = "/usr/lib/postgresql";
/** Where `ensure` puts files of packages that it does not install. */
export const unpackedFolder = "/usr/local/lib/holdfast";
const composeSchemaName = "compose_spec.json";
const debianPythonPackages = "/usr/lib/python3/dist-packages";
/** How long an interpreter may take to say what it can import. A slower one counts as unable to import it. */
const askPythonWithinMs = 10_000;
const oldestJava = 11;

/** Looks for a program on `PATH`; undefined if there is none. */
export function findProgram(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const file = join(folder, name);
    if (folder !== "" && isProgram(file)) return file;
  }
  return undefined;
}

/** `java` of `JAVA_HOME` or on `PATH`, if it is version 11 or later. */
export function findJava(): string | undefined {
  return findJdkProgram("java");
}

/** `javac` of `JAVA_HOME` or on `PATH`, if it is version 11 or later. */
export function findJavac(): string | undefined {
  return findJdkProgram("javac");
}

/**
 * The ZooKeeper server of this machine: the unpacked release named by the environment variable `ZOOKEEPER_HOME` if
 * that is set, else Debian's package. Undefined if there is none, or no Java to run it.
 */
export function findZooKeeper(): ZooKeeperInstall | undefined {
  const java = findJava();
  if (java === undefined) return undefined;
  const home = process.env.ZOOKEEPER_HOME;
  if (home !== undefined && home !== "") {
    // Releases keep their jars in lib; a source build has the server in build/libs or zookeeper-server/target.
    const jars = jarsIn(join(home, "lib"));
    if (!jars.some((jar) => /\/zookeeper-\d[^/]*\.jar$/.test(jar))) return undefined;
    return { java, classPath: jars.join(delimiter), from: home };
  }
  // The manifest of Debian's jar names the jars that it needs; only the logger behind slf4j has to be chosen.
  const jars = ["zookeeper.jar", "slf4j-simple.jar"].map((name) => join(debianJars, name));
  if (!jars.every((jar) => existsSync(jar))) return undefined;
  // The server's own start script leaves out this jar, and then has no AdminServer. The jar comes with the package.
  const servlet = join(debianJars, "servlet-api.jar");
  const classPath = [...jars, ...(existsSync(servlet) ? [servlet] : [])].join(delimiter);
  return { java, classPath, from: debianJars };
}

/** Debian's Curator (5.4.0 in Debian 12). Undefined if it is not installed. */
export function findCurator(): CuratorInstall | undefined {
  const jars = ["curator-recipes.jar", "curator-framework.jar", "curator-client.jar", "slf4j-simple.jar"].map(
    (name) => join(debianJars, name),
  );
  if (!jars.every((jar) => existsSync(jar))) return undefined;
  return { classPath: jars.join(delimiter), from: debianJars };
}

/**
 * The Redis server of this machine: the program that the environment variable `REDIS_SERVER` names if that is set, else
 * `redis-server` on `PATH`, else the one in Debian's package `redis-tools`. Undefined if there is none.
 */
export function findRedis(): RedisInstall | undefined {
  const named = process.env.REDIS_SERVER;
  if (named !== undefined && named !== "") {
    return isProgram(named) ? { server: named, from: "REDIS_SERVER" } : undefined;
  }
  const onPath = findProgram("redis-server");
  if (onPath !== undefined) return { server: onPath, from: "PATH" };
  return isProgram(debianRedis) ? { server: debianRedis, from: dirname(debianRedis) } : undefined;
}

/**
 * The PostgreSQL server of this machine: the folder of programs that the environment variable `POSTGRES_BIN` names if that is
 * set, else the newest version of Debian's package, else `PATH`. Undefined if there is none.
 */
export function findPostgres(): PostgresInstall | undefined {
  const given = process.env.POSTGRES_BIN;
  const onPath = findProgram("postgres");
  const folders =
    given !== undefined && given !== ""
      ? [given]
      : [...debianPostgresFolders(), ...(onPath === undefined ? [] : [dirname(onPath)])];
  for (const from of folders) {
    const [initdb, server] = [join(from, "initdb"), join(from, "postgres")];
    if (isProgram(initdb) && isProgram(server)) return { initdb, server, from };
  }
  return undefined;
}

/** The newest version first. */
function debianPostgresFolders(): string[] {
  if (!existsSync(debianPostgres)) return [];
  return readdirSync(debianPostgres)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(debianPostgres, version, "bin"));
}

/**
 * PgBouncer: the program that `PGBOUNCER` names if that is set, else the one on `PATH`, Debian's, or that of `ensure`.
 * Debian has it in a folder that only root has on its `PATH`.
 */
export function findPgBouncer(): string | undefined {
  const places = ["/usr/sbin/pgbouncer", join(unpackedFolder, "pgbouncer")];
  return named("PGBOUNCER") ?? findProgram("pgbouncer") ?? places.find(isProgram);
}

/** Chromium or Chrome: the program that `CHROMIUM` names if that is set, else the one on `PATH`. */
export function findChromium(): string | undefined {
  return named("CHROMIUM") ?? findProgram("chromium") ?? findProgram("google-chrome");
}

/** Prometheus' checker: the program that `PROMTOOL` names if that is set, else the one on `PATH` or that of `ensure`. */
export function findPromtool(): string | undefined {
  const own = join(unpackedFolder, "promtool");
  return named("PROMTOOL") ?? findProgram("promtool") ?? (isProgram(own) ? own : undefined);
}

/** The JSON schema of Compose files: the file that `COMPOSE_SCHEMA` names if that is set, else Debian's. */
export function findComposeSchema(): string | undefined {
  const given = process.env.COMPOSE_SCHEMA;
  const places =
    given !== undefined && given !== ""
      ? [given]
      : [
          join(unpackedFolder, composeSchemaName),
          join(debianPythonPackages, "compose/config", composeSchemaName),
        ];
  return places.find((place) => existsSync(place));
}

/** The program that an environment variable names. */
function named(variable: string): string | undefined {
  const program = process.env[variable];
  return program !== undefined && program !== "" && isProgram(program) ? program : undefined;
}

/** `python3` on `PATH`. */
export function findPython(): string | undefined {
  return findProgram("python3");
}

/** Debian's kazoo (2.8.0 in Debian 12), else one that the `python3` on `PATH` can import. Undefined if there is none. */
export function findKazoo(): KazooInstall | undefined {
  // Only the system's interpreter looks there. One of pyenv or conda that comes before it on PATH does not.
  if (isProgram(debianPython) && existsSync(join(debianPythonPackages, "kazoo"))) {
    return { python: debianPython, from: debianPythonPackages };
  }
  const python = findPython();
  if (python === undefined) return undefined;
  const where = "import kazoo.client, os; print(os.path.dirname(os.path.dirname(kazoo.__file__)))";
  const asked = spawnSync(python, ["-c", where], {
    encoding: "utf8",
    timeout: askPythonWithinMs,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return asked.status === 0 ? { python, from: asked.stdout.trim() } : undefined;
}

function findJdkProgram(name: string): string | undefined {
  const home = process.env.JAVA_HOME;
  const ofHome = home === undefined || home === "" ? undefined : join(home, "bin", name);
  const file = ofHome !== undefined && isProgram(ofHome) ? ofHome : findProgram(name);
  if (file === undefined) return undefined;
  const version = majorVersion(file);
  // An unknown version is accepted: the server itself reports what it does not like.
  return version !== undefined && version < oldestJava ? undefined : file;
}

/** Read from the JDK's `release` file, because starting Java to ask it takes longer than all other checks together. */
function majorVersion(program: string): number | undefined {
  try {
    const release = readFileSync(join(dirname(dirname(realpathSync(program))), "release"), "utf8");
    const match = /^JAVA_VERSION="(?:1\.)?(\d+)/m.exec(release);
    return match?.[1] === undefined ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function jarsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".jar"))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
