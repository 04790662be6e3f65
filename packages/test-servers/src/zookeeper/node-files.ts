import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ZooKeeperInstall } from "../install/installs.js";

/** Settings of a test server. Those of an ensemble apply to each of its nodes. */
export interface ZooKeeperOptions {
  /**
   * Length of a tick in milliseconds; default 500. Sessions expire up to one tick late, and unless the two options
   * below say otherwise a session lasts between 2 and 20 ticks. Shorter ticks make ensembles fall apart on busy
   * machines.
   */
  tickTimeMs?: number;
  /** Shortest session that a client can get, in milliseconds; default 2 ticks. */
  minSessionTimeoutMs?: number;
  /** Longest session that a client can get, in milliseconds; default 20 ticks. */
  maxSessionTimeoutMs?: number;
  /** Connections allowed from one address; default 0, no limit (ZooKeeper's own default is 60). */
  maxClientCnxns?: number;
  /** How often the server looks for empty containers, in milliseconds; default 60,000 as in ZooKeeper. */
  containerCheckIntervalMs?: number;
  /** Allows nodes with a time to live; default false as in ZooKeeper. */
  extendedTypes?: boolean;
  /** Whether each write waits for the disk; default false, which is faster and survives all but a power loss. */
  forceSync?: boolean;
  /**
   * Maps a path to the number that its next sequential child gets, for instance `{ "/lock": 1_999_999_999 }`. These
   * nodes exist, empty and persistent, when the server is up. They come from a made-up transaction log, because the
   * protocol has no way to set the counter.
   */
  sequences?: Readonly<Record<string, number>>;
  /**
   * Whether the server also answers over HTTP, on a fresh port of its host and to every client; default false. The
   * node's `adminPort` is that port.
   */
  adminServer?: boolean;
  /**
   * The four-letter words that are allowed on the client port; default all. ZooKeeper's own default is `srvr` alone.
   */
  fourLetterWords?: readonly string[];
  /** Further lines of `zoo.cfg`. Default: none. */
  config?: Readonly<Record<string, string | number>>;
  /** Heap limit in MiB; default 128. */
  heapMb?: number;
  /** Further options for `java`. They come after ours, so that they win. Default: none. */
  javaOptions?: readonly string[];
  /** What the server writes to its log; default "warn". */
  logLevel?: "debug" | "info" | "warn" | "error";
  /** Limit for a start in milliseconds; default 30,000 (a start takes about half a second on an idle machine). */
  startWithinMs?: number;
}

/** The files of one server, all inside its scratch folder. */
export interface NodeFiles {
  folder: string;
  dataDir: string;
  config: string;
  log: string;
}

/** Writes everything that a server reads at its start. Data from an earlier start stays. */
export function writeNodeFiles(
  folder: string,
  lines: readonly string[],
  options: ZooKeeperOptions,
): NodeFiles {
  const dataDir = join(folder, "data");
  const config = join(folder, "zoo.cfg");
  mkdirSync(dataDir, { recursive: true });
  // A quorum member writes the membership that it saw last beside the configuration. Ours never changes, and an old
  // file would bring back addresses of quorum proxies.
  rmSync(`${config}.dynamic.next`, { force: true });
  const tickTimeMs = options.tickTimeMs ?? 500;
  const settings: Record<string, string | number | undefined> = {
    dataDir,
    tickTime: tickTimeMs,
    minSessionTimeout: options.minSessionTimeoutMs,
    maxSessionTimeout: options.maxSessionTimeoutMs,
    maxClientCnxns: options.maxClientCnxns ?? 0,
    ...options.config,
  };
  const written = Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  writeFileSync(config, [...written, ...lines, ""].join("\n"));

  // Releases bring logback (3.8 and later) or log4j. Unless a file comes before theirs, they log to their own folders
  // or not at all. Debian's server logs through slf4j-simple, which is set by system properties.
  const level = (options.logLevel ?? "warn").toUpperCase();
  writeFileSync(
    join(folder, "logback.xml"),
    `<configuration><appender name="C" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>` +
      `%d{HH:mm:ss.SSS} %-5level [%thread] %logger{0} - %msg%n</pattern></encoder></appender>` +
      `<root level="${level}"><appender-ref ref="C"/></root></configuration>\n`,
  );
  writeFileSync(
    join(folder, "log4j.properties"),
    [
      `log4j.rootLogger=${level}, C`,
      "log4j.appender.C=org.apache.log4j.ConsoleAppender",
      "log4j.appender.C.layout=org.apache.log4j.PatternLayout",
      "log4j.appender.C.layout.ConversionPattern=%d{ABSOLUTE} %-5p [%t] %c{1} - %m%n",
      "",
    ].join("\n"),
  );
  return { folder, dataDir, config, log: join(folder, "server.log") };
}

/** The arguments for `java`. Flags are chosen for a fast start on a machine with few cores, not for throughput. */
export function javaArguments(
  install: ZooKeeperInstall,
  files: NodeFiles,
  options: ZooKeeperOptions,
  { host, adminPort }: { host: string; adminPort: number | undefined },
): string[] {
  const properties: Record<string, string | number | boolean> = {
    // `ready` needs `srvr` and `conf`, so they are always allowed.
    "zookeeper.4lw.commands.whitelist": options.fourLetterWords?.concat("srvr", "conf").join(",") ?? "*",
    "zookeeper.admin.enableServer": adminPort !== undefined,
    ...(adminPort === undefined
      ? {} // if it ran, it would listen on 0.0.0.0:8080
      : { "zookeeper.admin.serverAddress": host, "zookeeper.admin.serverPort": adminPort }),
    "zookeeper.forceSync": options.forceSync === true ? "yes" : "no",
    "zookeeper.preAllocSize": 4096, // KiB, instead of 64 MiB for each of many short-lived servers
    "zookeeper.snapshot.trust.empty": true, // for the log made by `sequences`
    "zookeeper.jmx.log4j.disable": true,
    "zookeeper.extendedTypesEnabled": options.extendedTypes ?? false,
    "znode.container.checkIntervalMs": options.containerCheckIntervalMs ?? 60_000,
    "org.slf4j.simpleLogger.defaultLogLevel": options.logLevel ?? "warn",
    "org.slf4j.simpleLogger.showDateTime": true,
    "org.slf4j.simpleLogger.dateTimeFormat": "HH:mm:ss.SSS",
    "java.awt.headless": true,
    "java.net.preferIPv4Stack": true,
  };
  return [
    `-Xmx${options.heapMb ?? 128}m`,
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
    ...(options.javaOptions ?? []),
    "-cp",
    [files.folder, install.classPath].join(delimiter),
    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    files.config,
  ];
}
