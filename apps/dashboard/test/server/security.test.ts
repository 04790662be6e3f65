import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Credentials } from "../../src/auth/credentials.js";
import { hashPassword } from "../../src/auth/passwords.js";
import { lockIdOf } from "../../src/core/lock-id.js";
import { fakeParticipant } from "../fake-collector.js";
import { as, changing, serving } from "./serving.js";

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

describe("who is let in", () => {
  it("a user with the right password is, with the role of the file; a wrong password or an unknown user is not", async () => {
    const users = [
      { name: "ada", role: "operator" as const, passwordHash: await hashPassword("correct horse") },
    ];
    await using dashboard = await serving({ users });
    const me = (headers: Record<string, string>) => dashboard.app.inject({ url: "/api/v1/me", headers });
    expect((await me(basic("ada", "correct horse"))).json()).toMatchObject({ name: "ada", role: "operator" });
    for (const headers of [
      basic("ada", "wrong"),
      basic("eve", "correct horse"),
      basic("", ""),
      { authorization: "Basic !" },
      { authorization: "Digest x" },
    ]) {
      const answer = await me(headers);
      expect([answer.statusCode, answer.json().error]).toEqual([401, "unauthenticated"]);
      expect(answer.headers["www-authenticate"]).toMatch(/^Basic/);
      expect(answer.body).not.toContain("csrfToken");
    }
  });

  it("after ten wrong passwords of one name nothing more is tried for it from that address; for others and from elsewhere it is", async () => {
    const passwordHash = await hashPassword("correct horse");
    const users = ["ada", "bob"].map((name) => ({ name, role: "viewer" as const, passwordHash }));
    await using dashboard = await serving({ users });
    const me = (password: string, remoteAddress: string) =>
      dashboard.app.inject({ url: "/api/v1/me", headers: basic("ada", password), remoteAddress });
    for (let n = 0; n < 10; n++) expect((await me(`guess ${n}`, "10.9.9.9")).statusCode).toBe(401);
    const blocked = await me("correct horse", "10.9.9.9");
    expect([blocked.statusCode, blocked.json().error]).toEqual([429, "too-many-failures"]);
    expect(Number(blocked.headers["retry-after"])).toBeGreaterThan(0);
    expect((await me("correct horse", "10.9.9.8")).statusCode).toBe(200);
    const from = { url: "/api/v1/me", remoteAddress: "10.9.9.9" };
    const bob = await dashboard.app.inject({ ...from, headers: basic("bob", "correct horse") });
    expect(bob.statusCode).toBe(200);
    expect((await dashboard.app.inject({ ...from, headers: as("viewer") })).statusCode).toBe(200);
  });

  it("a right token comes in however many wrong ones came from its address", async () => {
    await using dashboard = await serving();
    const me = (headers: Record<string, string>) => dashboard.app.inject({ url: "/api/v1/me", headers });
    const wrong = { authorization: "Bearer wrong-token-0123456789" };
    for (let n = 0; n < 10; n++) expect((await me(wrong)).statusCode).toBe(401);
    expect((await me(wrong)).statusCode).toBe(429);
    expect((await me(as("viewer"))).statusCode).toBe(200);
  });

  it("a caller is kept out for a minute, and not until a clock that was set back shows the same time again", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    await using dashboard = await serving();
    const headers = { authorization: "Bearer wrong-token-0123456789" };
    const me = async () => (await dashboard.app.inject({ url: "/api/v1/me", headers })).statusCode;
    for (let n = 0; n < 10; n++) expect(await me()).toBe(401);
    expect(await me()).toBe(429);
    vi.advanceTimersByTime(59_000);
    vi.setSystemTime(Date.now() - 86_400_000);
    expect(await me()).toBe(429);
    vi.advanceTimersByTime(1_000);
    expect(await me()).toBe(401);
  });

  it("of a burst of wrong passwords ten are tried, and a burst of the right one comes in as a whole", async () => {
    const users = [
      { name: "ada", role: "viewer" as const, passwordHash: await hashPassword("correct horse") },
    ];
    await using dashboard = await serving({ users });
    const burst = async (count: number, password: (n: number) => string): Promise<number[]> => {
      const answers = Array.from({ length: count }, (_, n) =>
        dashboard.app.inject({ url: "/api/v1/me", headers: basic("ada", password(n)) }),
      );
      return (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    };
    expect(new Set(await burst(40, () => "correct horse"))).toEqual(new Set([200]));
    const tried = await burst(30, (n) => `guess ${n}`);
    expect(tried.filter((status) => status === 401)).toHaveLength(10);
    expect(tried.filter((status) => status === 429)).toHaveLength(20);
  });

  it("requests that share one check, which the server is too busy for, give a caller no more than ten tries", async () => {
    const users = [
      { name: "ada", role: "viewer" as const, passwordHash: await hashPassword("correct horse") },
    ];
    await using dashboard = await serving({ users });
    const asked = (count: number, name: (n: number) => string, password: (n: number) => string) =>
      Array.from({ length: count }, async (_, n) => {
        const headers = basic(name(n), password(n));
        return (await dashboard.app.inject({ url: "/api/v1/me", headers })).statusCode;
      });
    const crowd = asked(
      60,
      (n) => `made-up-${n}`,
      () => "x",
    );
    const shared = asked(
      20,
      () => "ada",
      () => "one guess",
    );
    expect(new Set(await Promise.all(shared))).toEqual(new Set([503]));
    await Promise.all(crowd);
    const tried = await Promise.all(
      asked(
        30,
        () => "ada",
        (n) => `guess ${n}`,
      ),
    );
    expect(tried.filter((status) => status === 401)).toHaveLength(10);
  });

  it("what was right is remembered from its last use on", async () => {
    let nowMs = 0;
    const passwordHash = await hashPassword("correct horse");
    const credentials = new Credentials(
      { users: [{ name: "ada", role: "viewer", passwordHash }], tokens: [] },
      () => nowMs,
    );
    const { authorization } = basic("ada", "correct horse");
    await credentials.check(authorization);
    const whose = () => {
      const proof = credentials.known(authorization);
      return proof === null ? null : credentials.holderOf(proof);
    };
    for (let minute = 4; minute <= 40; minute += 4) {
      nowMs = minute * 60_000;
      expect(whose(), `minute ${minute}`).toEqual({ name: "ada", role: "viewer" });
    }
    nowMs += 300_000;
    expect(whose()).toBeNull();
  });

  it("a sign-in that fails and a change that is refused have a line in the audit, sixty in a minute at most", async () => {
    const users = [
      { name: "ada", role: "viewer" as const, passwordHash: await hashPassword("correct horse") },
    ];
    await using dashboard = await serving({ users });
    const { app } = dashboard;
    await app.inject({ url: "/api/v1/me", headers: basic("ada", "wrong") });
    const id = lockIdOf({ cluster: "zoo", backend: "zookeeper", key: "/locks/a" });
    const url = `/api/v1/locks/${id}/actions`;
    await app.inject({ method: "POST", url, headers: await changing(app, "viewer"), payload: {} });
    const rows = async () =>
      (await app.inject({ url: "/api/v1/audit?limit=500", headers: as("viewer") })).json().rows;
    expect((await rows()).toReversed()).toMatchObject([
      { action: "sign-in", actor: "ada", role: "none", outcome: "denied", address: "127.0.0.1" },
      { action: "request", actor: "the viewer", role: "viewer", object: "/locks/a", outcome: "denied" },
    ]);
    for (let n = 0; n < 100; n++)
      await app.inject({ method: "POST", url, headers: as("viewer"), payload: {} });
    expect(await rows()).toHaveLength(60);
  });

  it("where there are tokens alone a caller is an address, whatever name it gives, and none is named", async () => {
    await using dashboard = await serving();
    const me = async (n: number) =>
      (await dashboard.app.inject({ url: "/api/v1/me", headers: basic(`made-up-${n}`, "x") })).statusCode;
    for (let n = 0; n < 10; n++) expect(await me(n)).toBe(401);
    expect(await me(10)).toBe(429);
    const { rows } = (
      await dashboard.app.inject({ url: "/api/v1/audit?limit=500", headers: as("viewer") })
    ).json();
    expect(new Set(rows.map(({ actor }: { actor: string }) => actor))).toEqual(new Set(["anybody"]));
  });

  it("wrong credentials have as many lines in the log as in the audit", async () => {
    const warnings: string[] = [];
    await using dashboard = await serving({ onWarning: (line) => warnings.push(line) });
    const headers = { authorization: "Bearer wrong-token-0123456789" };
    for (let n = 0; n < 100; n++)
      await dashboard.app.inject({ url: "/api/v1/me", headers, remoteAddress: `10.9.9.${n}` });
    const { rows } = (
      await dashboard.app.inject({ url: "/api/v1/audit?limit=500", headers: as("viewer") })
    ).json();
    expect(rows).toHaveLength(60);
    expect(warnings.filter((line) => line.includes("wrong credentials"))).toHaveLength(60);
  });

  it("the host's own sign-in is asked first and may leave it to the others", async () => {
    const sso = { name: "sso", role: "admin" as const, session: "secret" };
    await using dashboard = await serving({
      authenticate: (request) => (request.headers["x-signed-in"] === "yes" ? sso : null),
    });
    const me = (headers: Record<string, string>) => dashboard.app.inject({ url: "/api/v1/me", headers });
    const signedIn = await me({ "x-signed-in": "yes" });
    expect(signedIn.json()).toMatchObject({ name: "sso", role: "admin" });
    expect(signedIn.body).not.toContain("secret");
    expect((await me(as("viewer"))).json()).toMatchObject({ name: "the viewer" });
    expect((await me({})).statusCode).toBe(401);
  });

  it("credentials meant for another service are no hindrance where none are asked for", async () => {
    await using dashboard = await serving({ tokens: [], anonymous: { name: null, role: "viewer" } });
    const me = (headers: Record<string, string>) => dashboard.app.inject({ url: "/api/v1/me", headers });
    expect((await me(basic("other", "service"))).json()).toMatchObject({ name: null, role: "viewer" });
  });

  it("without authentication only requests that call us by a loopback name are answered", async () => {
    await using dashboard = await serving({
      tokens: [],
      anonymous: { name: null, role: "admin" },
      loopbackNames: true,
    });
    const me = (host: string) => dashboard.app.inject({ url: "/api/v1/me", headers: { host } });
    for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"])
      expect((await me(host)).statusCode, host).toBe(200);
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example:8080",
      "10.0.0.1",
    ]) {
      const answer = await me(host);
      expect([answer.statusCode, answer.json().error], host).toEqual([403, "wrong-host"]);
      const alive = await dashboard.app.inject({ url: "/healthz", headers: { host } });
      expect(alive.statusCode, host).toBe(403);
    }
  });
});

describe("pages of other sites", () => {
  const id = lockIdOf({ cluster: "zoo", backend: "zookeeper", key: "/locks/a" });
  const body = {
    action: "request-revoke",
    expectedVersion: "h",
    confirmation: "/locks/a",
    reason: "because",
  };

  it("cannot change anything: neither without the token nor from another origin", async () => {
    await using dashboard = await serving();
    dashboard.zookeeper.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "h" })] });
    const right = await changing(dashboard.app, "admin");
    const { "x-csrf-token": token, "sec-fetch-site": _site, ...bare } = right;
    const post = async (headers: Record<string, string | undefined>) => {
      const answer = await dashboard.app.inject({
        method: "POST",
        url: `/api/v1/locks/${id}/actions`,
        headers: { host: "holdfast.example", ...headers },
        payload: body,
      });
      return [answer.statusCode, answer.json().error];
    };
    expect(await post(bare)).toEqual([403, "csrf"]);
    expect(await post({ ...bare, "x-csrf-token": `${token}x` })).toEqual([403, "csrf"]);
    expect(
      await post({ ...bare, "x-csrf-token": (await changing(dashboard.app, "operator"))["x-csrf-token"] }),
    ).toEqual([403, "csrf"]);
    for (const site of ["cross-site", "same-site", "none"])
      expect((await post({ ...right, "sec-fetch-site": site }))[1], site).toBe("cross-site");
    for (const origin of ["https://evil.example", "null", "http://holdfast.example.evil.example"])
      expect((await post({ ...bare, "x-csrf-token": token, origin }))[1], origin).toBe("cross-site");
    expect(dashboard.zookeeper.asked).toEqual([]);
    expect((await post({ ...bare, "x-csrf-token": token, origin: "http://holdfast.example" }))[0]).toBe(200);
    expect((await post(right))[0]).not.toBe(403);
  });

  it("behind a proxy that passes on no port, our own page can change something, and another page cannot", async () => {
    await using dashboard = await serving();
    dashboard.zookeeper.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "h" })] });
    const { "sec-fetch-site": _site, ...bare } = await changing(dashboard.app, "admin");
    const post = (from: Record<string, string>) =>
      dashboard.app.inject({
        method: "POST",
        url: `/api/v1/locks/${id}/actions`,
        headers: { ...bare, host: "holdfast.example", origin: "http://holdfast.example:8443", ...from },
        payload: body,
      });
    for (const other of [{}, { "sec-fetch-site": "same-site" }])
      expect((await post(other)).json().error).toBe("cross-site");
    expect((await post({ "sec-fetch-site": "same-origin" })).statusCode).toBe(200);
  });

  it("cannot read the API nor open its streams", async () => {
    await using dashboard = await serving();
    for (const url of ["/api/v1/me", "/api/v1/locks", "/api/v1/events", "/api/v1/openapi.json"]) {
      const answer = await dashboard.app.inject({
        url,
        headers: { ...as("admin"), "sec-fetch-site": "cross-site" },
      });
      expect([answer.statusCode, answer.json().error], url).toEqual([403, "cross-site"]);
    }
  });

  it("no page runs inline script, is framed, or keeps what it shows in a cache", async () => {
    await using dashboard = await serving();
    for (const url of ["/", "/locks", "/api/v1/locks"]) {
      const { headers } = await dashboard.app.inject({ url, headers: as("viewer") });
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["cache-control"]).toBe("no-store");
    }
  });
});

describe("names and data of strangers", () => {
  const hostile = [
    "/locks/<img src=x onerror=alert(1)>",
    "/locks/</script><script>alert(1)</script>",
    "/locks/../../etc/passwd",
    "/locks/%2e%2e%2f{slot}\u0000\r\nset-cookie: a=b",
    `/locks/${"x".repeat(3_000)}`,
    "/locks/\u202egnp.exe \ud83d\udd12",
    "/locks/'; drop table locks; --",
  ];

  it("come back as JSON text under ids that any proxy leaves alone", async () => {
    await using dashboard = await serving();
    for (const key of hostile) {
      dashboard.zookeeper.put({ key, holders: [fakeParticipant({ entry: key, data: key })] });
      const id = lockIdOf({ cluster: "zoo", backend: "zookeeper", key });
      expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
      const answer = await dashboard.app.inject({ url: `/api/v1/locks/${id}`, headers: as("viewer") });
      expect(answer.headers["content-type"]).toMatch(/^application\/json/);
      expect(answer.json().lock).toMatchObject({ key, holders: [{ data: key }] });
      expect(answer.headers["set-cookie"]).toBeUndefined();
    }
    const { rows } = (
      await dashboard.app.inject({ url: "/api/v1/locks?sort=name", headers: as("viewer") })
    ).json();
    expect(rows.map(({ key }: { key: string }) => key).toSorted()).toEqual(hostile.toSorted());
  });

  it("never reach the shell of the page, whatever the path says", async () => {
    await using dashboard = await serving();
    const answer = await dashboard.app.inject({
      url: "/locks/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
      headers: as("viewer"),
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).not.toContain("alert(1)");
  });

  it("ids that are no ids are not found", async () => {
    await using dashboard = await serving();
    for (const id of [
      "x",
      "..",
      "%2e%2e",
      "AAAA",
      lockIdOf({ cluster: "other", backend: "redis", key: "a" }),
      lockIdOf({ cluster: "zoo", backend: "redis", key: "a" }),
    ]) {
      const answer = await dashboard.app.inject({
        url: `/api/v1/locks/${encodeURIComponent(id)}`,
        headers: as("viewer"),
      });
      expect([answer.statusCode, answer.json().error], id).toEqual([404, "not-found"]);
    }
  });
});
