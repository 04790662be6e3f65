const lease = ["leaseMs"];
const wait = ["waitMs", "defaultWaitMs"];
const address = ["connect", "url", "nodes"];
const client = ["client"];

/**
 * The names of options in other libraries, in lower case and without a unit. Each has a list of our options: the one that is
 * meant is the first that the call in question knows.
 */
const habits: ReadonlyMap<string, readonly string[]> = new Map([
  ...all(lease, "ttl", "lockttl", "leasetime", "leaseduration", "duration", "expiry", "expire", "expiration"),
  ...all(lease, "locktimeout", "lockwatchdogtimeout"),
  ...all(wait, "timeout", "wait", "waittime", "waittimeout", "acquiretimeout", "maxwait", "blocking"),
  ...all(
    wait,
    "retries",
    "maxretries",
    "retrycount",
    "retrydelay",
    "retryinterval",
    "retryjitter",
    "attempts",
  ),
  ...all(wait, "acquireattemptslimit"),
  ...all(
    address,
    "connectionstring",
    "connectstring",
    "connection",
    "hosts",
    "host",
    "port",
    "servers",
    "server",
  ),
  ...all(address, "ensemble", "address", "endpoint", "uri", "url", "connect"),
  ...all(["cluster", "connect"], "nodes", "rootnodes", "startupnodes"),
  ...all(client, "redis", "ioredis", "zookeeper", "zk", "connectionpool"),
  ...all(
    ["renew"],
    "autoextend",
    "autorenew",
    "extend",
    "refresh",
    "watchdog",
    "automaticextensionthreshold",
  ),
  ...all(["signal"], "abort", "abortsignal", "cancel", "cancellationtoken"),
  ...all(["keyPrefix", "root"], "prefix", "basepath"),
  ...all(["permits"], "count", "permit", "amount"),
]);

function all(meant: readonly string[], ...words: readonly string[]): [string, readonly string[]][] {
  return words.map((word) => [word, meant]);
}

/** Our option for `key`, if `key` is the name of an option in another library; otherwise `null`. */
export function meantByHabit(key: string, known: ReadonlySet<string>): string | null {
  const word = key
    .toLowerCase()
    .replace(/[-_]/g, "")
    .replace(/(ms|millis|seconds)$/, "");
  return habits.get(word)?.find((option) => known.has(option)) ?? null;
}
