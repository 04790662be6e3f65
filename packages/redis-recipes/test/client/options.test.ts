import { InvalidArgumentError } from "@holdfast/core";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { expect, onTestFinished, test, vi } from "vitest";
import { endsOnReplicas, unsafeOptions } from "../../src/client/given-client.js";
import { safeClientOptions } from "../../src/client/safe-options.js";
import { clientOptions, commandSettings } from "../../src/client/settings.js";
import type { RedisTarget } from "../../src/client/target.js";
import { type RedisLocksOptions, resolveOptions } from "../../src/provider/options.js";
import { givenSettings } from "./support.js";

const url = "redis://h";

function refusal(options: unknown): string {
  try {
    resolveOptions(options as RedisLocksOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return (error as Error).message;
  }
  throw new Error(`accepted: ${JSON.stringify(options)}`);
}

/** A client that is not connected and never will be. */
function idle(options: Omit<RedisOptions, "replyMapping"> = {}): Redis {
  const client = new Redis({ ...options, lazyConnect: true });
  onTestFinished(() => client.disconnect());
  return client;
}

test("fills in the defaults that fit Redisson's", () => {
  const { common, target, ...rest } = resolveOptions({ url: "redis://h" });
  expect(common.connectTimeoutMs).toBe(10_000);
  expect(target).toEqual({
    kind: "single",
    address: { host: "h", port: 6379 },
    access: { username: undefined, password: undefined, tls: undefined },
    db: 0,
  });
  expect(rest).toEqual({
    db: 0,
    leaseMs: 30_000,
    dialTimeoutMs: 500,
    commandTimeoutMs: 1_000,
    keyPrefix: "",
    replicas: 0,
    acks: 0,
    waitTimeoutMs: 1_000,
    shardedPubSub: "auto",
    tokenTtlMs: 3_600_000,
    javaPeers: true,
    heartbeatMs: 1_000,
    aliveMs: 3_500,
    claimLeaseMs: 3_000,
    maxDirectRun: 8,
    fairLockWaitTimeoutMs: 300_000,
    keeps: false,
    keepAskMs: 50,
  });
});

test.each([
  ["redis://[::1]:7000/3", { address: { host: "::1", port: 7000 }, db: 3 }],
  ["redis://:p%40ss@h", { access: { username: undefined, password: "p@ss", tls: undefined } }],
  ["rediss://app:secret@h:1", { access: { username: "app", password: "secret", tls: {} } }],
])("reads the url %s", (given, parts) => {
  expect(resolveOptions({ url: given }).target).toMatchObject(parts);
});

test("gives each connection of ours the times of the options, and three command times before silence ends it", () => {
  const { target, ...times } = resolveOptions({ url, dialTimeoutMs: 4_000, commandTimeoutMs: 2_500 });
  expect(clientOptions(target as RedisTarget & { kind: "single" }, times)).toMatchObject({
    connectTimeout: 4_000,
    sentinelCommandTimeout: 4_000,
    socketTimeout: 7_500,
  });
  expect(commandSettings()).toMatchObject({
    connectTimeout: 500,
    sentinelCommandTimeout: 500,
    socketTimeout: 3_000,
  });
});

test.each([
  [{ dialTimeoutMs: 49 }, "dialTimeoutMs must be at least 50 ms; got 49"],
  [{ dialTimeoutMs: 600.5 }, "dialTimeoutMs must be a whole number"],
  [{ dialTimeoutMs: 3_001, connectTimeoutMs: 3_000 }, "at most connectTimeoutMs (3000 ms); got 3001"],
  [{ commandTimeoutMs: 99 }, "commandTimeoutMs must be at least 100 ms; got 99"],
  [{ commandTimeoutMs: Infinity }, "commandTimeoutMs"],
  [{ commandTimeoutMs: 1_001, leaseMs: 3_000 }, "at most a third of leaseMs (1000 ms); got 1001"],
  [{ commandTimeoutMs: 2_501 }, "at most aliveMs - heartbeatMs (2500 ms); got 2501"],
  [{ keepMs: 10_001 }, "at most a third of leaseMs (10000 ms); got 10001"],
])("refuses the times %j, which make no sense", (times, message) => {
  expect(refusal({ url, ...times })).toContain(message);
});

test("takes a short lease with the default times", () => {
  expect(resolveOptions({ url, leaseMs: 100, heartbeatMs: 100, aliveMs: 200 }).commandTimeoutMs).toBe(1_000);
});

test("passes what belongs to sentinels and cluster on", () => {
  const nodes = [{ host: "a", port: 1 }];
  expect(
    resolveOptions({
      sentinels: { sentinels: nodes, name: "main", password: "s" },
      username: "app",
      password: "p",
      db: 2,
    }).target,
  ).toMatchObject({
    kind: "sentinel",
    masterName: "main",
    sentinelAccess: { password: "s" },
    access: { username: "app", password: "p" },
    db: 2,
  });
  expect(resolveOptions({ cluster: { nodes }, shardedPubSub: "on" }).target).toMatchObject({
    kind: "cluster",
    nodes,
  });
});

test.each<[string, unknown, RegExp]>([
  ["nothing", undefined, /exactly one of the options url, sentinels, cluster and client; got none/],
  ["two ways at once", { url, cluster: { nodes: [] } }, /got url and cluster/],
  ["an unknown option", { url, leaseMS: 1 }, /does not know the option "leaseMS"; did you mean leaseMs\?/],
  ["another protocol", { url: "http://h" }, /must begin with redis:\/\/ or rediss:\/\//],
  ["no url", { url: "h:6379:1" }, /must be like redis:\/\/host|must begin with/],
  ["parameters in the url", { url: "redis://h?db=1" }, /takes no parameters/],
  ["a path in the url", { url: "redis://h/locks" }, /number of the database/],
  ["a database twice", { url: "redis://h/1", db: 2 }, /db is given twice/],
  ["tls without rediss", { url, tls: {} }, /needs a url that begins with rediss/],
  [
    "a server name of TLS that is no string",
    { url: "rediss://h", tls: { servername: 5 } },
    /redisLocks: tls\.servername must be a string; got 5/,
  ],
  [
    "a server name of TLS to sentinels that is no string",
    { sentinels: { sentinels: [{ host: "a", port: 1 }], name: "x", tls: { servername: 5 } } },
    /sentinels\.tls\.servername must be a string; got 5/,
  ],
  ["a user without a password", { url, username: "app" }, /username needs a password/],
  ["a negative database", { url, db: -1 }, /db must be a whole number/],
  ["no sentinels", { sentinels: { sentinels: [], name: "x" } }, /at least one \{ host, port \}/],
  ["no name", { sentinels: { sentinels: [{ host: "a", port: 1 }] } }, /what the sentinels call the master/],
  ["a bad port", { cluster: { nodes: [{ host: "a", port: 70_000 }] } }, /a port from 1 to 65535/],
  ["an unknown part", { cluster: { nodes: [], natMaps: {} } }, /did you mean natMap\?/],
  ["a database in a cluster", { cluster: { nodes: [{ host: "a", port: 1 }] }, db: 1 }, /leave out db/],
  ["a lease that is none", { url, leaseMs: 0 }, /leaseMs must be a number of milliseconds, 1 or more/],
  ["a lease in seconds", { url, leaseMs: 30 }, /leaseMs must be from 100 to 2147483648000 ms/],
  [
    "a claim lease below a far round trip",
    { url, claimLeaseMs: 499 },
    /claimLeaseMs must be a number of milliseconds, 500 or more/,
  ],
  ["a lease longer than Redis takes", { url, leaseMs: 9e15 }, /leaseMs must be from 100 to/],
  ["a broken lease", { url, leaseMs: 1.5 }, /leaseMs must be a whole number/],
  [
    "more acks than replicas",
    { url, replicas: 1, acks: 2 },
    /counts against the option replicas, which is 1/,
  ],
  ["all of none", { url, acks: "all" }, /counts against the option replicas, which is 0/],
  ["acks that are none", { url, replicas: 1, acks: "some" }, /"none", "all" or a whole number/],
  ["sharded channels on one server", { url, shardedPubSub: "on" }, /in a cluster alone/],
  ["a sharded mode that is none", { url, shardedPubSub: "maybe" }, /"auto", "on" or "off"/],
  ["tokens that restart", { url, tokenTtlMs: 60_000 }, /at least 100 leases \(3000000 ms\)/],
  ["a breathless heartbeat", { url, heartbeatMs: 2_000, aliveMs: 3_000 }, /at least twice heartbeatMs/],
  ["no direct run", { url, maxDirectRun: 0 }, /maxDirectRun must be a whole number, 1 or more/],
  ["a prefix that is no text", { url, keyPrefix: 1 }, /keyPrefix must be a string/],
  ["a client that is none", { client: {} }, /must be a Redis or Cluster of ioredis/],
])("refuses %s", (_what, options, message) => {
  expect(refusal(options)).toMatch(message);
});

test.each(["redis://:100%@h", "redis://100%:hush@h"])(
  "refuses the url %s, which is not percent-encoded",
  (given) => {
    expect(refusal({ url: given })).toMatch(/must be percent-encoded, so write %25 for a percent sign/);
    expect(refusal({ url: given })).not.toMatch(/100|hush/);
  },
);

test("never shows the password of a url that it refuses", () => {
  expect(refusal({ url: "http://user:hush@h" })).not.toContain("hush");
});

test("keeps tokens for 100 leases where those are longer than the default", () => {
  expect(resolveOptions({ url, leaseMs: 24 * 3_600_000 }).tokenTtlMs).toBe(100 * 24 * 3_600_000);
  expect(resolveOptions({ url, tokenTtlMs: 0 }).tokenTtlMs).toBe(0);
});

test("counts acks against what is configured", () => {
  expect(resolveOptions({ url, replicas: 2, acks: "all" }).acks).toBe(2);
  expect(resolveOptions({ url, replicas: 2, acks: 1 }).acks).toBe(1);
});

test.each([
  ["keyPrefix", { keyPrefix: "app:" }],
  ["readOnly", { readOnly: true }],
  ["stringNumbers", { stringNumbers: true }],
  ["monitor", { monitor: true }],
  ["role", { sentinels: [{ host: "h", port: 26_379 }], name: "main", role: "slave" as const }],
])("refuses a client whose %s would change what commands say", (option, options) => {
  expect(refusal({ client: idle(options) })).toContain(`must not have the ioredis option ${option}`);
});

test("refuses options of the connection beside a client that made it", () => {
  expect(refusal({ client: idle(), db: 1 })).toMatch(/db belongs to the connection/);
});

test("names each unsafe option of a client with ioredis' defaults, what it costs and what to set", () => {
  const found = unsafeOptions(idle());
  expect(found.map(({ option }) => option)).toEqual([
    "maxRetriesPerRequest",
    "socketTimeout",
    "commandTimeout",
    "connectTimeout",
    "enableOfflineQueue",
    "reconnectOnError",
    "retryStrategy",
  ]);
  for (const { advice } of found) expect(advice).toMatch(/; set /);
});

test("names failoverDetector where there are sentinels, and resending that never settles", () => {
  const client = idle({
    sentinels: [{ host: "a", port: 1 }],
    name: "x",
    autoResendUnfulfilledCommands: false,
  });
  const options = unsafeOptions(client).map(({ option }) => option);
  expect(options).toContain("failoverDetector");
  expect(options).toContain("autoResendUnfulfilledCommands");
});

test("never calls the retryStrategy of a client, which may end the process after too many attempts", () => {
  const retryStrategy = vi.fn(() => 50);
  expect(unsafeOptions(idle({ ...givenSettings(), retryStrategy })).map(({ option }) => option)).toEqual([
    "reconnectOnError",
  ]);
  expect(retryStrategy).not.toHaveBeenCalled();
});

test("asks reconnectOnError of a client with a command, as ioredis does, as a method of the options, and bears that it throws", () => {
  const whole = {
    ...safeClientOptions,
    codes: ["READONLY"],
    reconnectOnError(this: { codes: string[] }, error: Error): boolean {
      const { command } = error as Error & { command: { name: string } };
      return command.name !== "get" && this.codes.some((code) => error.message.startsWith(code));
    },
  };
  const client = idle(whole);
  expect([endsOnReplicas(client), unsafeOptions(client)]).toEqual([true, []]);
  const throwing = idle({
    ...safeClientOptions,
    reconnectOnError: () => {
      throw new Error("unknown refusal");
    },
  });
  expect(endsOnReplicas(throwing)).toBe(false);
  expect(unsafeOptions(throwing).map(({ option }) => option)).toEqual(["reconnectOnError"]);
});

test("names a reconnectOnError that ends the connection at every refusal, in a cluster too", () => {
  const redisOptions = { ...safeClientOptions, reconnectOnError: () => true };
  const cluster = new Cluster([{ host: "a", port: 1 }], { lazyConnect: true, redisOptions });
  onTestFinished(() => cluster.disconnect());
  expect(unsafeOptions(idle(redisOptions)).map(({ option }) => option)).toEqual(["reconnectOnError"]);
  expect(unsafeOptions(cluster).map(({ option }) => option)).toEqual(["redisOptions.reconnectOnError"]);
});

test("has nothing to say against its own settings with the time-out of ioredis, for one server that may change its role and for a cluster", () => {
  const settings = givenSettings();
  const reconnectOnError = ({ message }: Error): boolean => message.startsWith("READONLY");
  expect(unsafeOptions(idle({ ...settings, reconnectOnError }))).toEqual([]);
  const { lazyConnect: _, retryStrategy: __, enableOfflineQueue: ___, ...redisOptions } = settings;
  const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true, redisOptions });
  onTestFinished(() => cluster.disconnect());
  expect(unsafeOptions(cluster)).toEqual([]);
  expect(resolveOptions({ client: cluster }).target.kind).toBe("given-cluster");
});

test("has nothing to say against the safe options, for one server, sentinels and a cluster, and takes such a client", () => {
  const single = idle({ ...safeClientOptions });
  const sentinels = idle({ ...safeClientOptions, sentinels: [{ host: "a", port: 1 }], name: "x" });
  const cluster = new Cluster([{ host: "a", port: 1 }], {
    lazyConnect: true,
    redisOptions: safeClientOptions,
  });
  onTestFinished(() => cluster.disconnect());
  for (const client of [single, sentinels, cluster]) {
    expect(unsafeOptions(client)).toEqual([]);
    expect(resolveOptions({ client }).target).toMatchObject({ client });
  }
});

test("has to say against a client that leaves any of the safe options out what that option is for", () => {
  const said = Object.keys(safeClientOptions).filter((option) => {
    const { [option as keyof typeof safeClientOptions]: _leftOut, ...others } = safeClientOptions;
    return unsafeOptions(idle(others)).length > 0;
  });
  // The other options have safe defaults, or matter only with sentinels.
  expect(said.sort()).toEqual(
    [
      "commandTimeout",
      "connectTimeout",
      "enableOfflineQueue",
      "maxRetriesPerRequest",
      "reconnectOnError",
      "retryStrategy",
      "socketTimeout",
    ].sort(),
  );
});
