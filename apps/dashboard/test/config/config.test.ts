import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeRedisCertificate } from "@holdfast/test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkConfig } from "../../src/config/check.js";
import { loadConfig } from "../../src/config/load.js";
import { readSecret, readUsers } from "../../src/config/secrets.js";
import { hashPassword, startDashboard } from "../../src/index.js";
import { serverOf } from "../../src/server/http-server.js";
import { checkDashboard } from "../../src/start.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";
import { soon } from "../soon.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-config-"));
});
afterEach(async () => await rm(directory, { recursive: true }));

const put = async (name: string, text: string): Promise<string> => {
  await writeFile(join(directory, name), text);
  return join(directory, name);
};

describe("the configuration", () => {
  it("is YAML with several clusters, secrets by file or variable", async () => {
    const file = await put(
      "dashboard.yaml",
      `
listen: { host: 127.0.0.1, port: 0 }
basePath: /a/b/
actions: true
auth:
  basic: { file: users }
  bearer:
    - { name: prometheus, role: viewer, token: { env: PROM_TOKEN } }
clusters:
  - name: prod-eu
    zookeeper: { connect: "zk1:2181,zk2:2181/app", roots: [/locks, /curator/*] }
  - name: cache
    redis:
      sentinels: { sentinels: [{ host: s1, port: 26379 }], name: mymaster }
      password: { file: redis-password }
      patterns: ["order:*"]
`,
    );
    const { config } = await loadConfig(file);
    expect(config.clusters.map(({ name }) => name)).toEqual(["prod-eu", "cache"]);
    await put("users", `# who\n\nada:admin:${await hashPassword("correct horse")}\n`);
    await put("redis-password", "secret\n");
    await checkDashboard(config, { directory, env: { PROM_TOKEN: "0123456789abcdef" } });
    await expect(checkDashboard(config, { directory, env: {} })).rejects.toThrow(
      "auth.bearer prometheus: variable PROM_TOKEN is not set",
    );
    await expect(checkDashboard(config, { directory, env: { PROM_TOKEN: "short" } })).rejects.toThrow(
      "at least 16",
    );
  });

  it("may be JSON", async () => {
    const cluster = { name: "a", redis: { url: "redis://h", patterns: [] } };
    const file = await put("dashboard.json", JSON.stringify({ clusters: [cluster] }));
    expect((await loadConfig(file)).config).toEqual({ clusters: [cluster] });
  });

  it.each([
    [{ clusters: [], basepath: "/" }, 'does not know the option "basepath"; did you mean basePath?'],
    [{ clusters: [{ name: "a", zookeeper: { connect: "h:1", rots: [] } }] }, "did you mean roots?"],
    [
      { clusters: [{ name: "a", redis: { url: "redis://h", patern: [] } }] },
      "clusters[0].redis does not know",
    ],
    [{ clusters: [], auth: { bearer: [{ name: "a", role: "root", token: {} }] } }, "auth.bearer.0.role"],
    [{}, "clusters"],
    [{ clusters: [{ name: "a" }] }, "must have either zookeeper or redis"],
    [{ clusters: [{ name: "a", redis: { patterns: [] } }] }, "exactly one of url, sentinels and cluster"],
    [{ clusters: [], basePath: "no-slash" }, "basePath"],
    [
      { clusters: [], links: [{ title: "Logs", url: "https://l.example/{hst}", on: "owner" }] },
      'links[0] (Logs): url does not know the placeholder "hst"; did you mean host?',
    ],
    [
      { clusters: [], links: [{ title: "Logs", url: "ftp://l.example/", on: "lock" }] },
      "links[0] (Logs): url must",
    ],
    [{ clusters: [], links: [{ title: "Logs", url: "https://l.example/", on: "finding" }] }, "links.0.on"],
    ...[["/"], ["/locks", "/"], ["/*"], [{ path: "/" }]].map((roots): [object, string] => [
      { actions: true, clusters: [{ name: "a", zookeeper: { connect: "h:1", roots } }] },
      "clusters: a: zookeeper: roots: / does not go with actions: true (--actions)",
    ]),
    [{ clusters: [], listen: { port: 70_000 } }, "listen.port"],
    [
      {
        clusters: [
          { name: "a", redis: { url: "redis://h", patterns: [] } },
          { name: "a", redis: { url: "redis://h", patterns: [] } },
        ],
      },
      "two are called a",
    ],
  ])("%j is refused, and the message says where", (config, message) => {
    expect(() => checkConfig(config)).toThrow(message);
  });

  it("never has a secret in a message", async () => {
    const secret = "hunter2-hunter2-hunter2";
    const wrong: unknown[] = [
      { clusters: [{ name: "a", redis: { url: `redis://u:${secret}@h`, patterns: [] } }] },
      { clusters: [{ name: "a", redis: { url: "redis://h", password: secret, patterns: [] } }] },
      { clusters: [], auth: { bearer: [{ name: "a", role: "viewer", token: secret }] } },
      { clusters: [{ name: "a", redis: { url: `http://${secret}`, patterns: [] } }] },
    ];
    for (const each of wrong) {
      let message = "";
      try {
        checkConfig(each);
      } catch (error) {
        message = String(error);
      }
      expect(message).toContain("ConfigError");
      expect(message).not.toContain(secret);
    }
    const file = await put("broken.yaml", `password: "${secret}\n  x: [`);
    await expect(loadConfig(file)).rejects.toThrow(/line \d+: not YAML/);
    await expect(loadConfig(file)).rejects.not.toThrow(secret);
  });

  it("TLS takes files that can be read and fit together, and says which do not", async () => {
    const check = (tls: object) =>
      checkDashboard(
        checkConfig({
          listen: { port: 0 },
          clusters: [{ name: "a", redis: { url: "rediss://h", patterns: [], tls } }],
        }),
        { directory, env: {} },
      );
    const { certificate, key } = makeRedisCertificate();
    await put("cert.pem", certificate);
    await put("key.pem", key);
    await put("other.pem", makeRedisCertificate().key);
    await put("broken.pem", "hunter2");
    await check({});
    await check({ ca: "cert.pem", cert: "cert.pem", key: "key.pem", serverName: "h" });
    for (const [tls, message] of [
      [{ ca: "none.pem" }, /clusters: a: tls: ca: .*none\.pem cannot be read \(ENOENT\)/],
      [{ cert: "cert.pem" }, "clusters: a: tls: cert and key go together"],
      [{ cert: "cert.pem", key: "other.pem" }, "clusters: a: tls: cert.pem, other.pem"],
      [{ cert: "broken.pem", key: "key.pem" }, "clusters: a: tls: broken.pem, key.pem"],
      [{ cert: "cert.pem", key: "key.pem", passphrase: { env: "NONE" } }, "tls: passphrase"],
      [{ certificate: "x" }, "does not know the option"],
    ] as const) {
      await expect(async () => await check(tls)).rejects.toThrow(message);
      await expect(async () => await check(tls)).rejects.not.toThrow("hunter2");
    }
    expect(() =>
      checkConfig({ clusters: [{ name: "a", redis: { url: "redis://h", patterns: [], tls: {} } }] }),
    ).toThrow("begins with rediss://");
  });

  it.each([
    ["zookeeper: { connect: 'zk1:99999', roots: [] }", "clusters: a: ", /from 1 to 65535/],
    ["redis: { url: 'redis://h:99999', patterns: [] }", "clusters: a: ", /must be like redis:/],
    ["redis: { url: 'redis://:6379x', patterns: [] }", "clusters: a: ", /must be like redis:/],
  ])("a check refuses a cluster with %s", async (backend, where, message) => {
    const file = await put("dashboard.yaml", `listen: { port: 0 }\nclusters: [{ name: a, ${backend} }]`);
    const checked = loadConfig(file).then(({ config }) => checkDashboard(config, { directory, env: {} }));
    await expect(checked).rejects.toMatchObject({
      name: "ConfigError",
      message: expect.stringMatching(message),
    });
    await expect(checked).rejects.toThrow(where);
  });

  it.each([
    [{ trustProxy: ["nonsense"] }, 'trustProxy: "nonsense" is no address and no network'],
    [{ trustProxy: ["10.0.0.0/33"] }, 'trustProxy: "10.0.0.0/33" is no address and no network'],
    [{ trustProxy: ["0.0.0.0/0"] }, 'trustProxy: "0.0.0.0/0" is every address'],
    [{ trustProxy: ["::/0"] }, 'trustProxy: "::/0" is every address'],
    [{ trustProxy: ["10.0.0.0/255.0.255.0"] }, '"10.0.0.0/255.0.255.0" is no address and no network'],
    [{ trustProxy: ["0.0.0.0/0.0.0.0"] }, 'trustProxy: "0.0.0.0/0.0.0.0" is every address'],
    [{ audit: { file: "missing/audit.jsonl" } }, "cannot be written (ENOENT)"],
    [{ audit: { file: "." } }, "is a folder"],
    [
      { audit: { webhook: { url: "https://me:secret@hooks.example" } } },
      "give them as audit.webhook.authorization",
    ],
    [
      { audit: { webhook: { url: "https://hooks.example", authorization: { file: "two-lines" } } } },
      "audit.webhook.authorization cannot be a header: it must be one line of Latin letters, digits and signs",
    ],
    [
      { audit: { webhook: { url: "https://hooks.example", authorization: { file: "with-mark" } } } },
      "audit.webhook.authorization cannot be a header",
    ],
    [{ history: { file: "missing/history.db" } }, "history.file: "],
    [{ history: { file: "history.db", maxMegabytes: 8 } }, "history.maxMegabytes must be >= 16"],
    [{ history: { file: "notes.txt" } }, "notes.txt is no history: it is a file of something else"],
  ])("%j is refused by a check and at the start, in one sentence", async (part, message) => {
    const cluster = { name: "a", redis: { url: "redis://127.0.0.1:1", patterns: [] } };
    const config = { listen: { port: 0 }, clusters: [cluster], ...part };
    const check = () => checkDashboard(config, { directory, env: {} });
    const start = () => startDashboard(config, { directory });
    await put("notes.txt", "these are notes, and no database");
    await put("two-lines", "Bearer a\nb\n");
    await put("with-mark", "\ufeffBearer a\n");
    // One after the other: a rejection that is not awaited yet would count as unhandled.
    for (const tried of [check, start]) {
      const refused = expect.objectContaining({
        name: "ConfigError",
        message: expect.stringContaining(message),
      });
      await expect(tried()).rejects.toEqual(refused);
    }
  });

  it("takes addresses, networks and the names of networks for proxies, and an audit file in a folder that is there", async () => {
    const cluster = { name: "a", redis: { url: "redis://127.0.0.1:1", patterns: [] } };
    const trustProxy = [
      "127.0.0.1",
      "::1",
      "10.0.0.0/8",
      "10.0.0.0/255.0.0.0",
      "fc00::/7",
      "loopback",
      "uniquelocal",
    ];
    const audit = { file: "audit.jsonl" };
    const auth = { anonymous: "viewer" } as const;
    await checkDashboard(
      { listen: { port: 0 }, clusters: [cluster], trustProxy, audit, auth },
      { directory, env: {} },
    );
  });

  it("a file without a cluster is refused", async () => {
    const file = await put("dashboard.yaml", "clusters: []");
    await expect(loadConfig(file)).rejects.toThrow("clusters: name at least one");
  });

  it.each([
    ["a:\n b: 1\n  c: 2", /line 2: .*indentation and the colons/],
    ["a:\n\tb: 1", /line 2: .*tab/],
    ["clusters: []\nclusters: []", /line 2: .*twice/],
    ['a: "b', /line 1: .*not closed/],
  ])("a mistake in the YAML %j is explained in words, with its line", async (text, message) => {
    await expect(loadConfig(await put("broken.yaml", text))).rejects.toThrow(message);
  });

  it("times are in milliseconds, and the message says so", () => {
    for (const longHoldMs of ["5m", 1.5, 0])
      expect(() => checkConfig({ clusters: [], thresholds: { longHoldMs } })).toThrow(
        "thresholds.longHoldMs is in milliseconds: a whole number from 1 to 2592000000, such as 300000 for five minutes",
      );
  });

  it("secrets must be in exactly one place, which must be there", async () => {
    const source = { directory, env: { SET: "value", EMPTY: "" } };
    expect(await readSecret("it", { env: "SET" }, source)).toBe("value");
    await expect(readSecret("it", {}, source)).rejects.toThrow("either file or env");
    await expect(readSecret("it", { env: "SET", file: "x" }, source)).rejects.toThrow("either file or env");
    await expect(readSecret("it", { env: "EMPTY" }, source)).rejects.toThrow("EMPTY is not set");
    await expect(readSecret("it", { file: "none" }, source)).rejects.toThrow("ENOENT");
  });

  it("a file of users with a plain password, a strange role or a name twice is refused by its line, without the line", async () => {
    const hash = await hashPassword("correct horse");
    for (const [text, message] of [
      ["ada:admin:hunter2", "line 1: not a hash"],
      [`ada:root:${hash}`, "line 1: the role"],
      [`ada:admin:${hash}\nada:viewer:${hash}`, "line 2: ada is there twice"],
      ["ada", "line 1: must be name:role:hash"],
      ["", "there is no user"],
    ] as const) {
      await put("users", text);
      await expect(readUsers("users", { directory })).rejects.toThrow(message);
    }
    await put("users", "ada:admin:hunter2");
    await expect(readUsers("users", { directory })).rejects.not.toThrow("hunter2");
  });
});

describe("starting", () => {
  it("listens beyond loopback only with authentication, or when it is said that anybody may look", async () => {
    const listen = { host: "0.0.0.0", port: 0 };
    await expect(startDashboard({ listen, clusters: [] })).rejects.toThrow(
      "only a loopback address is possible",
    );
    const open = await startDashboard({ listen, clusters: [], actions: true, auth: { anonymous: "viewer" } });
    const me = await (await fetch(`http://127.0.0.1:${new URL(open.url).port}/api/v1/me`)).json();
    expect(me).toMatchObject({ name: null, role: "viewer" });
    await open.close();
    const closed = await startDashboard({ listen, clusters: [] }, { authenticate: () => null });
    expect((await fetch(`http://127.0.0.1:${new URL(closed.url).port}/api/v1/me`)).status).toBe(401);
    await closed.close();
  });

  it("on loopback without authentication every caller is a viewer, and an admin when actions are on", async () => {
    for (const actions of [false, true]) {
      const dashboard = await startDashboard({ listen: { port: 0 }, actions, clusters: [] });
      const me = await (await fetch(`${dashboard.url}api/v1/me`)).json();
      expect(me).toMatchObject({ role: actions ? "admin" : "viewer", actions });
      await dashboard.close();
    }
  });

  it("trustProxy without auth is refused, as nothing that a proxy passes on is served then", async () => {
    const config = { listen: { port: 0 }, trustProxy: ["127.0.0.1"], clusters: [] };
    await expect(startDashboard(config)).rejects.toThrow("trustProxy: without auth");
    await expect(checkDashboard(config, { directory, env: {} })).rejects.toThrow("trustProxy: without auth");
    const open = await startDashboard({ ...config, auth: { anonymous: "viewer" } });
    const me = await fetch(`${open.url}api/v1/me`, { headers: { "x-forwarded-for": "10.0.0.1" } });
    expect(me.status).toBe(200);
    await open.close();
  });

  it("warns of users and tokens that every user of the machine can read", async () => {
    const file = await put("users", `ada:admin:${await hashPassword("correct horse")}\n`);
    const token = await put("token", "0123456789abcdef");
    const warned = async (mode: number): Promise<string[]> => {
      await Promise.all([file, token].map((path) => chmod(path, mode)));
      const messages: string[] = [];
      const source = { directory, env: {}, warn: (message: string) => void messages.push(message) };
      await readUsers("users", source);
      await readSecret("auth.bearer a", { file: "token" }, source);
      return messages;
    };
    expect(await warned(0o640)).toEqual([]);
    expect(await warned(0o644)).toEqual([
      `auth.basic: ${file} can be read by every user of this machine: chmod o-r`,
      `auth.bearer a: ${token} can be read by every user of this machine: chmod o-r`,
    ]);
  });

  it("takes the rules of groups at their former place too, with a warning, and at one of the two", async () => {
    const groups = [{ match: "user:*", group: "users" }];
    const warned = async (config: object): Promise<string[]> => {
      const messages: string[] = [];
      const source = { directory, env: {}, warn: (message: string) => messages.push(message) };
      await checkDashboard(checkConfig({ listen: { port: 0 }, clusters: [], ...config }), source);
      return messages;
    };
    expect(await warned({ groups })).toEqual([]);
    expect(await warned({ metrics: { groups } })).toEqual([
      expect.stringContaining("metrics.groups: the rules belong"),
    ]);
    await expect(warned({ groups, metrics: { groups } })).rejects.toThrow(
      "groups: they are in metrics.groups as well",
    );
    for (const config of [{ groups }, { metrics: { groups } }]) {
      const collector = new FakeCollector("redis");
      for (const name of ["user:alice", "user:bob"])
        collector.put({ key: name, waiters: [fakeParticipant({ entry: name })] });
      const dashboard = await startDashboard(
        { listen: { port: 0 }, clusters: [], ...config },
        { collectors: [{ name: "red", collector }] },
      );
      const metrics = await (await fetch(`${dashboard.url}metrics`)).text();
      await dashboard.close();
      expect(metrics).toContain(
        'holdfast_dashboard_lock_waiters{cluster="red",backend="redis",lock_group="users"} 2',
      );
    }
  });

  it("cuts a request whose body does not come, and leaves streams alone", async () => {
    // The limit counts from the connection on, so a stall of the machine before the head is read must be shorter.
    const app = serverOf({}, false, { requestMs: 1_500, looksEveryMs: 50 });
    app.post("/body", (request) => request.body);
    app.get("/stream", (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write("begun");
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const send = (head: string): { text: string; ended: boolean; socket: Socket } => {
      const socket = connect(port, "127.0.0.1");
      const seen = { text: "", ended: false, socket };
      socket.on("data", (bytes) => {
        seen.text += String(bytes);
      });
      socket.on("close", () => {
        seen.ended = true;
      });
      socket.write(`${head} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`);
      return seen;
    };
    const stream = send("GET /stream");
    stream.socket.write("\r\n");
    const body = send("POST /body");
    body.socket.write('content-length: 100\r\n\r\n{"a":');
    await soon(() => body.ended).toBe(true);
    expect(body.text).toContain("408");
    expect([stream.ended, stream.text.includes("begun")]).toEqual([false, true]);
    stream.socket.destroy();
    await app.close();
  });

  it("ends though clients are connected that have sent nothing, or a part of a request", async () => {
    const app = serverOf({}, false);
    app.post("/body", (request) => request.body);
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const whole =
      "POST /body HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    const sockets = ["", "POST /bo", `${whole}{"a":`].map((part) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(part));
      return socket.on("error", () => {});
    });
    const open = (): Promise<number> =>
      new Promise((done, failed) =>
        app.server.getConnections((error, count) => (error === null ? done(count) : failed(error))),
      );
    await soon(open).toBe(sockets.length);
    let ended = false;
    const closing = app.close().then(() => {
      ended = true;
    });
    await soon(() => ended).toBe(true);
    await closing;
  });

  it("what lies outside of the base path is not there, in words that do not repeat it", async () => {
    const dashboard = await startDashboard({ listen: { port: 0 }, basePath: "/a/", clusters: [] });
    const answer = await fetch(new URL("/%3Cb%3E/secret", dashboard.url));
    expect([answer.status, await answer.json()]).toEqual([
      404,
      { error: "not-found", message: "there is nothing here" },
    ]);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const odd = await fetch(new URL("/a/%zz", dashboard.url));
    expect([odd.status, ((await odd.json()) as { error: string }).error]).toEqual([400, "bad-request"]);
    expect(odd.headers.get("x-content-type-options")).toBe("nosniff");
    await dashboard.close();
  });

  it("serves under its base path, with collectors of the caller's, which it does not close", async () => {
    const collector = new FakeCollector();
    collector.put({ key: "/locks/a" });
    const dashboard = await startDashboard(
      { listen: { port: 0 }, basePath: "/a/b/", clusters: [] },
      { collectors: [{ name: "mine", collector }] },
    );
    expect(dashboard.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/b\/$/);
    const { rows } = (await (await fetch(`${dashboard.url}api/v1/locks`)).json()) as { rows: unknown[] };
    expect(rows).toHaveLength(1);
    expect((await fetch(`${dashboard.url}healthz`)).status).toBe(200);
    expect((await fetch(`${dashboard.url}readyz`)).status).toBe(200);
    await dashboard.close();
    expect(collector.closed).toBe(false);
  });

  it("is ready once something is known of every cluster, and no sooner, however long that takes", async () => {
    const [one, other] = [new FakeCollector(), new FakeCollector()];
    const [source] = one.sourceList;
    const dashboard = await startDashboard(
      { listen: { port: 0 }, clusters: [] },
      {
        collectors: [
          { name: "one", collector: one },
          { name: "other", collector: other },
        ],
      },
    );
    const ready = async (state: string, lastSuccessMs: number | null): Promise<number> => {
      other.sourceList = [{ ...source, state, lastSuccessMs } as never];
      return (await fetch(`${dashboard.url}readyz`)).status;
    };
    expect(await ready("starting", null)).toBe(503);
    expect(await ready("down", null)).toBe(503);
    expect(await ready("denied", null)).toBe(503);
    expect(await ready("ok", 1_000)).toBe(200);
    // A later outage does not make the dashboard unready, because it shows the outage.
    expect(await ready("stale", 1_000)).toBe(200);
    other.sourceList = [];
    expect((await fetch(`${dashboard.url}readyz`)).status).toBe(200);
    await dashboard.close();
  });

  it("starts, answers and closes while none of its backends can be reached", async () => {
    const nowhere = { host: "127.0.0.1", port: 1 };
    const dashboard = await startDashboard(
      {
        listen: { port: 0 },
        thresholds: { longHoldMs: 60_000, orphanAfterMs: 60_000 },
        clusters: [
          { name: "zoo", zookeeper: { connect: "127.0.0.1:1", roots: ["/locks"], adminPort: 0 } },
          { name: "one", redis: { url: "redis://127.0.0.1:1", password: { env: "P" }, patterns: ["a:*"] } },
          {
            name: "ha",
            redis: { sentinels: { sentinels: [nowhere], name: "m", password: { env: "P" } }, patterns: [] },
          },
          { name: "slots", redis: { cluster: { nodes: [nowhere] }, patterns: [] } },
        ],
      },
      { env: { P: "secret" } },
    );
    const answer = await fetch(`${dashboard.url}api/v1/overview`);
    const { clusters } = (await answer.json()) as { clusters: { name: string; state: string }[] };
    expect(clusters.map(({ name }) => name)).toEqual(["zoo", "one", "ha", "slots"]);
    expect(clusters.some(({ state }) => state === "ok")).toBe(false);
    await dashboard.close();
  });

  it("takes ids of rows and locks that are longer than other servers allow", async () => {
    const collector = new FakeCollector();
    const key = `/locks/${"k".repeat(6_000)}`;
    collector.put({ key });
    const dashboard = await startDashboard(
      { listen: { port: 0 }, clusters: [] },
      { collectors: [{ name: "mine", collector }] },
    );
    const { rows } = (await (await fetch(`${dashboard.url}api/v1/locks`)).json()) as {
      rows: { id: string }[];
    };
    const answer = await fetch(`${dashboard.url}api/v1/locks/${rows[0]?.id}`);
    expect([answer.status, ((await answer.json()) as { lock: { key: string } }).lock.key]).toEqual([
      200,
      key,
    ]);
    await dashboard.close();
  });
});
