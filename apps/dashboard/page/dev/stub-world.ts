import type {
  ActionAnswer,
  ActionBody,
  AuditRow,
  ClusterRow,
  FindingRow,
  HistoryRow,
  LockDetail,
  LockRow,
  Participant,
  SessionRow,
} from "../../src/contract/api.js";

// Locks that nobody holds, for working at the page without servers. Everything moves, and some of it is ugly on purpose.

export type Scenario =
  | "plain"
  | "down"
  | "stale"
  | "partial"
  | "empty"
  | "no-roots"
  | "no-cluster"
  | "denied"
  | "viewer"
  | "read-only"
  | "signed-out"
  | "slow";

const hosts = ["pay", "stock", "billing", "search", "mailer"];
const exact = (atMs: number) => ({ atMs, provenance: "exact" as const });
const atLeast = (atMs: number) => ({ atMs, provenance: "at-least" as const });
const unknown = { atMs: null, provenance: "unknown" as const };
const uuid = (n: number): string =>
  `3f2c91${(n % 256).toString(16).padStart(2, "0")}-77aa-4b1e-9d0c-${String(n).padStart(12, "0")}`;
const hostile = "<img src=x onerror=alert(1)>";

export class StubWorld {
  scenario: Scenario = "plain";
  readonly rows: LockRow[] = [];
  readonly queues = new Map<string, Participant[]>();
  readonly history = new Map<string, HistoryRow[]>();
  readonly audit: AuditRow[] = [];
  readonly findings: FindingRow[] = [];
  readonly series: { atMs: number; waiting: number; held: number; grants: number }[] = [];
  #serial = 1000;

  constructor(size: number) {
    const nowMs = Date.now();
    for (let n = 0; n < size; n += 1) this.#addLock(n, nowMs);
    for (let n = 120; n > 0; n -= 1) {
      const wave = 150 + 48 * Math.sin(n / 9) + ((n * 7919) % 11);
      this.series.push({
        atMs: nowMs - n * 5000,
        waiting: Math.round(wave),
        held: 40,
        grants: Math.round(60 + 30 * Math.cos(n / 14) + ((n * 31) % 13)),
      });
    }
    this.#addFindings(nowMs);
  }

  #zookeeper(n: number, nowMs: number, position: number | null): Participant {
    this.#serial += 1;
    const named = n % 3 !== 0;
    const kazoo = n % 7 === 5;
    const host = hosts[n % hosts.length] ?? "pay";
    const session = `0x1000${(n % 23).toString(16).padStart(2, "0")}4f3a0000`;
    return {
      entry: kazoo
        ? `${uuid(n).replaceAll("-", "")}__lock__${String(this.#serial).padStart(10, "0")}`
        : `_c_${uuid(n)}-lock-${String(this.#serial).padStart(10, "0")}`,
      actor: session,
      session,
      identity: named
        ? { label: `${host}-${n % 9}`, host: `${host}-${n % 9}.prod.internal`, pid: 800 + (n % 97) }
        : null,
      address: `10.2.3.${n % 200}:${51_000 + (n % 999)}`,
      data: n % 11 === 3 ? hostile : `10.2.3.${n % 200}`,
      mode: "exclusive",
      permits: 1,
      position,
      since: exact(nowMs - ((n * 3917) % 90_000)),
      holdCount: null,
      remainingMs: null,
      lease: "session",
      deadlineMs: null,
      token: position === null ? `0x5000${(this.#serial * 17).toString(16)}` : null,
      library: kazoo ? "kazoo" : named ? "holdfast" : "curator",
    };
  }

  #redis(n: number, nowMs: number, position: number | null): Participant {
    this.#serial += 1;
    const lease =
      n % 13 === 4 ? "not-renewing" : n % 17 === 2 ? "never-expires" : n % 5 === 0 ? "fixed" : "renewing";
    return {
      entry: `${uuid(n)}:${n % 80}`,
      actor: `${uuid(n)}:${n % 80}`,
      session: uuid(n % 30),
      identity: n % 4 === 0 ? { label: `order-${n % 6}`, host: `order-${n % 6}`, pid: 4000 + n } : null,
      address: null,
      data: null,
      mode: "exclusive",
      permits: 1,
      position,
      since: n % 4 === 0 ? exact(nowMs - ((n * 977) % 60_000)) : atLeast(nowMs - ((n * 7717) % 600_000)),
      holdCount: 1 + (n % 2),
      remainingMs: lease === "never-expires" ? null : 30_000 - ((n * 331) % 20_000),
      lease,
      deadlineMs: position !== null ? nowMs + 20_000 + n * 100 : null,
      token: n % 4 === 0 ? String(1_795_212_000_000_000 + this.#serial) : null,
      library: n % 4 === 0 ? "holdfast" : "redisson",
    };
  }

  #addLock(n: number, nowMs: number): void {
    const redis = n % 3 === 1;
    const semaphore = n % 10 === 8;
    const idle = n % 12 === 11;
    const waiting = idle || n > 60 ? 0 : n === 0 ? 61 : n < 25 ? (n * 5) % 13 : 0;
    const make = (k: number, position: number | null) =>
      redis ? this.#redis(n * 31 + k, nowMs, position) : this.#zookeeper(n * 31 + k, nowMs, position);
    const holders = idle ? [] : Array.from({ length: semaphore ? 3 : 1 }, (_, k) => make(k, null));
    const hidden = redis && n % 4 !== 0;
    const waiters = hidden ? [] : Array.from({ length: waiting }, (_, k) => make(k + 10, k));
    const key = redis
      ? `order:{${4200 + n}}`
      : n === 6
        ? `/locks/${hostile}`
        : n === 9
          ? `/locks/${"very-long-segment-".repeat(12)}end`
          : `/locks/${["settle-eu", "ledger", "stock/berlin", "nightly/report"][n % 4]}-${n}`;
    const cluster = redis ? "cache-eu" : "prod-eu";
    const row: LockRow = {
      id: Buffer.from(`${cluster}\n${redis ? "redis" : "zookeeper"}\n${key}`).toString("base64url"),
      cluster,
      backend: redis ? "redis" : "zookeeper",
      key,
      kind: semaphore
        ? "semaphore"
        : redis
          ? n % 4 === 0
            ? "fair-mutex"
            : "reentrant-mutex"
          : n % 9 === 7
            ? "read-write-lock"
            : n % 14 === 12
              ? null
              : "reentrant-mutex",
      libraries: [...new Set([...holders, ...waiters].map(({ library }) => library))],
      state: idle ? "idle" : waiting > 0 ? "contended" : "held",
      holders: holders.slice(0, 3),
      holderCount: semaphore ? 7 : holders.length,
      waiterCount: waiting,
      waiterUnit: hidden ? (n % 8 === 5 ? "hidden" : "connections") : "participants",
      oldestWait: waiting === 0 ? unknown : hidden ? unknown : exact(nowMs - waiting * 900),
      oldestHold: holders[0]?.since ?? unknown,
      token: holders[0]?.token ?? null,
      limit: semaphore ? 10 : null,
      version: holders.map(({ entry }) => entry).join(" "),
      readMs: nowMs,
      denied:
        n === 14
          ? "NoAuth: the ACL of /locks/stock gives the dashboard no read; setAcl /locks/stock auth:dashboard:r"
          : null,
    };
    if (row.denied !== null) Object.assign(row, { holders: [], holderCount: 0, state: "held" });
    this.rows.push(row);
    this.queues.set(row.id, waiters);
    this.history.set(row.id, []);
  }

  #addFindings(nowMs: number): void {
    const [first, second, third] = this.rows;
    const base = { cluster: "prod-eu", muted: null };
    if (first === undefined || second === undefined || third === undefined) return;
    this.findings.push(
      {
        ...base,
        id: "f1",
        kind: "deadlock-suspected",
        severity: "critical",
        object: first.key,
        lockId: first.id,
        sinceMs: nowMs - 42_000,
        evidence: "Two sessions wait for each other, seen in two pictures 2.4 s apart with the same nodes.",
        advice: "Look at the circle under Waits; ask one of the holders to leave.",
      },
      {
        ...base,
        id: "f2",
        kind: "long-hold",
        severity: "warning",
        object: third.key,
        lockId: third.id,
        sinceMs: nowMs - 400_000,
        evidence: "Held for 6 min while 10 wait; the median hold of this lock is 1.2 s.",
        advice: "See what its holder does; its session is alive.",
      },
      {
        ...base,
        cluster: "cache-eu",
        id: "f3",
        kind: "eviction-policy",
        severity: "critical",
        object: "10.0.0.7:6379",
        lockId: null,
        sinceMs: nowMs - 3_600_000,
        evidence: "maxmemory-policy is allkeys-lru.",
        advice: "Set maxmemory-policy noeviction, or held locks are deleted when the memory is full.",
      },
      {
        ...base,
        id: "f4",
        kind: "orphan-parent",
        severity: "info",
        object: "/locks/nightly",
        lockId: null,
        sinceMs: nowMs - 86_400_000,
        evidence: "1,204 empty parents that are no containers.",
        advice: "Clean up, with a dry run first.",
      },
      {
        ...base,
        id: "f5",
        kind: "unauthenticated-admin",
        severity: "warning",
        object: "zk-2:8080",
        lockId: null,
        sinceMs: nowMs - 7_200_000,
        evidence: "AdminServer answers without credentials.",
        advice: "Bind it to loopback.",
        muted: { reason: "behind the firewall until the move", by: "anna", untilMs: nowMs + 86_400_000 },
      },
    );
  }

  clusters(): ClusterRow[] {
    const nowMs = Date.now();
    const { scenario } = this;
    if (scenario === "no-cluster") return [];
    const down = scenario === "down";
    const off = scenario === "no-roots";
    const source = {
      state: "ok",
      coverage: 1,
      lastSuccessMs: nowMs - 400,
      nextTryMs: null,
      cost: null,
      message: null,
    };
    return [
      {
        name: "prod-eu",
        backend: "zookeeper",
        state: down ? "down" : scenario === "stale" ? "stale" : "ok",
        locks: this.rows.filter((row) => row.backend === "zookeeper").length,
        coverage: 1,
        lastSuccessMs: down || scenario === "stale" ? nowMs - 42_000 : nowMs - 300,
        sources: [
          off
            ? {
                ...source,
                source: "roots",
                state: "off",
                coverage: 0,
                lastSuccessMs: null,
                message: "No roots are configured.",
              }
            : down
              ? {
                  ...source,
                  source: "watch /locks",
                  state: "down",
                  lastSuccessMs: nowMs - 42_000,
                  nextTryMs: nowMs + 4000,
                  message: "zk-1:2181 refuses connections.",
                }
              : { ...source, source: "watch /locks", cost: "1 watch" },
          ...(scenario === "denied"
            ? [
                {
                  ...source,
                  source: "watch /secret",
                  state: "denied",
                  coverage: 0,
                  message: "NoAuth: grant read with `setAcl /secret auth:dashboard:r`.",
                },
                {
                  ...source,
                  source: "watch /jobs",
                  state: "too-big",
                  coverage: 0,
                  message: "1,204,311 nodes, more than 200,000; name a narrower root such as /jobs/eu.",
                },
              ]
            : []),
          { ...source, source: "sessions", cost: "connections every 15 s" },
        ],
      },
      {
        name: "cache-eu",
        backend: "redis",
        state: scenario === "partial" ? "syncing" : "ok",
        locks: this.rows.filter((row) => row.backend === "redis").length,
        coverage: scenario === "partial" ? 0.63 : 1,
        lastSuccessMs: nowMs - 800,
        sources: [
          off
            ? {
                ...source,
                source: "scan",
                state: "off",
                coverage: 0,
                lastSuccessMs: null,
                message: "No patterns are configured, so nothing is scanned.",
              }
            : {
                ...source,
                source: "scan order:*",
                state: scenario === "partial" ? "syncing" : "ok",
                coverage: scenario === "partial" ? 0.63 : 1,
                cost: "20 calls/s, 1.8 % CPU",
              },
          { ...source, source: "pubsub", cost: "2 calls each 2 s" },
        ],
      },
    ];
  }

  /** Hands some locks on, as life does. Gives the rows that changed. */
  step(): LockRow[] {
    const nowMs = Date.now();
    const changed: LockRow[] = [];
    let grants = 0;
    for (const row of this.rows) {
      row.readMs = this.scenario === "down" && row.backend === "zookeeper" ? row.readMs : nowMs;
      if (row.readMs !== nowMs) continue;
      const queue = this.queues.get(row.id) ?? [];
      if (queue.length === 0 || Math.random() > 0.12 || row.key.endsWith("-2")) continue;
      this.handOver(row, nowMs);
      grants += 1;
      changed.push(row);
    }
    const last = this.series.at(-1);
    if (last !== undefined && nowMs - last.atMs >= 5000) {
      this.series.push({ atMs: nowMs, waiting: this.waiting(), held: 40, grants: 60 + grants * 9 });
      this.series.shift();
    }
    return changed;
  }

  handOver(row: LockRow, nowMs: number): void {
    const queue = this.queues.get(row.id) ?? [];
    const next = queue.shift();
    const [before] = row.holders;
    const log = this.history.get(row.id) ?? [];
    if (before !== undefined) {
      log.unshift({
        atMs: nowMs - 1,
        type: "released",
        entry: before.entry,
        token: before.token,
        heldMs: nowMs - (before.since.atMs ?? nowMs),
      });
      this.#serial += 1;
      queue.push({
        ...before,
        entry: `${before.entry.slice(0, -10)}${String(this.#serial).padStart(10, "0")}`,
        since: exact(nowMs),
        position: queue.length,
        token: null,
      });
    }
    if (next !== undefined) {
      this.#serial += 1;
      const token =
        row.backend === "zookeeper"
          ? `0x5000${(this.#serial * 17).toString(16)}`
          : String(1_795_212_000_000_000 + this.#serial);
      const holder = { ...next, position: null, since: exact(nowMs), token };
      log.unshift({ atMs: nowMs, type: "granted", entry: holder.entry, token, heldMs: null });
      row.holders = [holder, ...row.holders.slice(1)];
      row.token = token;
    }
    queue.forEach((each, at) => {
      each.position = at;
    });
    this.history.set(row.id, log.slice(0, 40));
    row.oldestWait = queue[0]?.since ?? unknown;
    row.oldestHold = row.holders[0]?.since ?? unknown;
    row.version = row.holders.map(({ entry }) => entry).join(" ");
  }

  waiting(): number {
    return this.rows.reduce((sum, row) => sum + row.waiterCount, 0);
  }

  detail(row: LockRow): LockDetail {
    const waiters = this.queues.get(row.id) ?? [];
    const [holder] = row.holders;
    const name = holder?.library === "curator" ? "Curator" : holder?.library;
    return {
      nowMs: Date.now(),
      lock: row,
      waiters,
      raw: [
        { name: row.backend === "zookeeper" ? "path" : "key", value: row.key },
        { name: "stat", value: "czxid=0x500004e21 mzxid=0x500004e21 cversion=1626 children=62" },
        { name: "data", value: `${holder?.data ?? ""}\n${hostile}` },
      ],
      explain: [
        "Holder: the child with the lowest sequence number.",
        "Held for: from the moment at which the collector saw its predecessor go.",
      ],
      findings: this.findings.filter(({ lockId }) => lockId === row.id),
      actions: [
        {
          action: "request-revoke",
          entry: holder?.entry ?? null,
          role: "operator",
          effects: [
            `The holder (${name}) is asked to leave. It is told only if its program made the lock revocable.`,
          ],
        },
        {
          action: "force-release",
          entry: holder?.entry ?? null,
          role: "admin",
          effects: [
            `The holder (${name}) will NOT be told: it goes on believing that it holds the lock.`,
            "The next waiter is granted within a second. Until the old holder stops, there are two.",
            "Writes that check the fencing token refuse the old holder.",
          ],
        },
        ...waiters.slice(0, 20).map(({ entry }) => ({
          action: "evict-waiter",
          entry,
          role: "admin",
          effects: [
            "The waiter's node is deleted. A Curator client makes a new one at the tail and still acquires later.",
          ],
        })),
      ],
    };
  }

  act(row: LockRow, body: ActionBody): { status: number; answer: ActionAnswer } {
    const before = structuredClone(row);
    const auditId = `a${this.audit.length + 1}`;
    const conflict =
      body.expectedVersion !== row.version || (this.scenario === "plain" && body.reason.includes("conflict"));
    const outcome = conflict ? "conflict" : body.dryRun === true ? "would-do" : "done";
    if (conflict || outcome === "done") this.handOver(row, Date.now());
    this.audit.unshift({
      id: auditId,
      atMs: Date.now(),
      actor: "anna",
      role: "admin",
      address: "10.9.8.7",
      action: body.action,
      cluster: row.cluster,
      object: row.key,
      entry: body.entry ?? null,
      before: before.version,
      after: row.version,
      reason: body.reason,
      dryRun: body.dryRun ?? false,
      outcome,
    });
    const effects = this.detail(before).actions.find(({ action }) => action === body.action)?.effects ?? [];
    return {
      status: conflict ? 409 : 200,
      answer: {
        outcome,
        effects: conflict ? [] : effects,
        before: conflict ? structuredClone(row) : before,
        after: outcome === "would-do" ? before : row,
        auditId,
      },
    };
  }

  sessions(): SessionRow[] {
    const sessions = new Map<string, SessionRow>();
    const nowMs = Date.now();
    for (const row of this.rows) {
      const add = (each: Participant, list: "holds" | "waits"): void => {
        if (each.session === null) return;
        const session = sessions.get(each.session) ?? {
          id: each.session,
          cluster: row.cluster,
          backend: row.backend,
          server: row.backend === "zookeeper" ? "zk-1:2181" : null,
          address: each.address,
          identity: each.identity,
          timeoutMs: row.backend === "zookeeper" ? 20_000 : null,
          established: row.backend === "zookeeper" ? exact(nowMs - 8_000_000) : unknown,
          lastSeen: row.backend === "zookeeper" ? exact(nowMs - 1200) : atLeast(nowMs - 4000),
          holds: [],
          waits: [],
          state: row.backend === "zookeeper" ? "connected" : "unknown",
        };
        if (!session[list].some(({ lockId }) => lockId === row.id))
          session[list].push({ key: row.key, lockId: row.id });
        sessions.set(each.session, session);
      };
      for (const each of row.holders) add(each, "holds");
      for (const each of this.queues.get(row.id) ?? []) add(each, "waits");
    }
    return [...sessions.values()];
  }
}
