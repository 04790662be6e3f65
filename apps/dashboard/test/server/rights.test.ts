import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BasicUser } from "../../src/auth/credentials.js";
import type { Findings } from "../../src/contract/api.js";
import { type DashboardConfig, hashPassword, type Principal, startDashboard } from "../../src/index.js";
import { FakeCollector } from "../fake-collector.js";
import { soon } from "../soon.js";
import { EventReader } from "./event-source.js";
import { serving } from "./serving.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-rights-"));
});
afterEach(async () => await rm(directory, { recursive: true }));

const put = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);

/** Writes another file and then renames it to this name, as editors do. */
async function swap(name: string, text: string): Promise<void> {
  await put(`${name}.new`, text);
  await rename(join(directory, `${name}.new`), join(directory, name));
}

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function started(auth: DashboardConfig["auth"]) {
  const lines: string[] = [];
  const write = (line: unknown): void => {
    lines.push(typeof line === "string" ? line : JSON.stringify(line));
  };
  const log = {
    ...{
      level: "info",
      info: write,
      warn: write,
      error: write,
      fatal: write,
      debug: () => {},
      trace: () => {},
    },
    ...{ silent: () => {}, child: () => log },
  };
  const dashboard = await startDashboard(
    { listen: { port: 0 }, actions: true, auth: auth ?? {}, clusters: [] },
    { directory, log, collectors: [{ name: "zoo", collector: new FakeCollector() }] },
  );
  const ask = (path: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${dashboard.url}api/v1/${path}`, { headers });
  return {
    lines,
    dashboard,
    status: async (headers: Record<string, string>) => (await ask("me", headers)).status,
    role: async (headers: Record<string, string>) =>
      ((await (await ask("me", headers)).json()) as Principal).role,
    findings: async (headers: Record<string, string>) =>
      ((await (await ask("findings", headers)).json()) as Findings).rows,
    stream: (headers: Record<string, string>) => EventReader.open(`${dashboard.url}api/v1/events`, headers),
    [Symbol.asyncDispose]: () => dashboard.close(),
  };
}

const ada = "correct horse";
const bob = "battery staple";

describe("the users' file while the dashboard runs", () => {
  it("a user whose role is taken down has the new one within seconds, and the open stream ends; the other user's goes on", async () => {
    const [hash, other] = [await hashPassword(ada), await hashPassword(bob)];
    await put("users", `ada:admin:${hash}\nbob:viewer:${other}\n`);
    await using running = await started({ basic: { file: "users" } });
    using hers = await running.stream(basic("ada", ada));
    using his = await running.stream(basic("bob", bob));
    expect(await running.role(basic("ada", ada))).toBe("admin");
    await swap("users", `ada:viewer:${hash}\nbob:viewer:${other}\n`);
    await soon(() => hers.ended).toBe(true);
    expect(await running.role(basic("ada", ada))).toBe("viewer");
    expect(his.ended).toBe(false);
    expect(running.lines.some((line) => line.includes("has changed and was read again"))).toBe(true);
  });

  it("a user who is taken out, or has another password, is refused within seconds, and the open stream ends", async () => {
    const [hash, other] = [await hashPassword(ada), await hashPassword(bob)];
    await put("users", `ada:admin:${hash}\nbob:viewer:${other}\n`);
    await using running = await started({ basic: { file: "users" } });
    using hers = await running.stream(basic("ada", ada));
    using his = await running.stream(basic("bob", bob));
    // Bob is removed. Of the line of Ada only the hash differs, not the name and not the length.
    await put("users", `ada:admin:${other}\n`);
    await soon(() => [hers.ended, his.ended]).toEqual([true, true]);
    expect(await running.status(basic("ada", ada))).toBe(401);
    expect(await running.status(basic("bob", bob))).toBe(401);
    expect(await running.status(basic("ada", bob))).toBe(200);
  });

  it.each([
    ["is not right", "ada:root:x\n", "line 1: the role must be"],
    ["is empty", "", "there is no user in it"],
    ["is gone", null, "cannot be read (ENOENT)"],
  ])(
    "a file that %s leaves the last good users in force, and a line in the log and a finding say so until it is mended",
    async (_, text, message) => {
      const good = `ada:operator:${await hashPassword(ada)}\n`;
      await put("users", good);
      await using running = await started({ basic: { file: "users" } });
      using stream = await running.stream(basic("ada", ada));
      if (text === null) await rm(join(directory, "users"));
      else await swap("users", text);
      const found = async () => (await running.findings(basic("ada", ada))).map(({ evidence }) => evidence);
      await soon(found).toEqual([expect.stringContaining(message)]);
      expect((await running.findings(basic("ada", ada)))[0]).toMatchObject({
        ...{ kind: "sign-in-not-read", cluster: "(dashboard)", object: join(directory, "users") },
      });
      await running.dashboard.reread();
      await running.dashboard.reread();
      expect(running.lines.filter((line) => line.includes(message))).toHaveLength(1);
      expect(await running.role(basic("ada", ada))).toBe("operator");
      expect(await running.status(basic("eve", "anything"))).toBe(401);
      expect(stream.ended).toBe(false);
      await swap("users", good);
      await soon(found).toEqual([]);
      const metrics = await fetch(`${running.dashboard.url}metrics`, { headers: basic("ada", ada) });
      expect(await metrics.text()).toContain(
        'holdfast_dashboard_findings{cluster="(dashboard)",kind="sign_in_not_read",severity="warning"} 0',
      );
    },
  );

  it("a secret as Kubernetes mounts it is followed when the link of its folder is swapped", async () => {
    const hash = await hashPassword(ada);
    const version = async (name: string, text: string): Promise<void> => {
      await mkdir(join(directory, name));
      await put(`${name}/users`, text);
      await symlink(name, join(directory, "..data.tmp"));
      await rename(join(directory, "..data.tmp"), join(directory, "..data"));
    };
    await version("..2026_1", `ada:admin:${hash}\n`);
    await symlink("..data/users", join(directory, "users"));
    await using running = await started({ basic: { file: "users" } });
    expect(await running.role(basic("ada", ada))).toBe("admin");
    await version("..2026_2", `ada:viewer:${hash}\n`);
    await soon(() => running.role(basic("ada", ada))).toBe("viewer");
  });
});

describe("tokens while the dashboard runs", () => {
  const first = "first-token-0123456789";
  const second = "second-token-0123456789";
  const kept = "kept-token-0123456789";

  it("a token that is replaced is refused within seconds, and its open stream ends; another token's goes on", async () => {
    await put("token", first);
    await put("kept", kept);
    await using running = await started({
      bearer: [
        { name: "ci", role: "operator", token: { file: "token" } },
        { name: "kept", role: "viewer", token: { file: "kept" } },
      ],
    });
    using its = await running.stream(bearer(first));
    using others = await running.stream(bearer(kept));
    await swap("token", `${second}\n`);
    await soon(() => its.ended).toBe(true);
    expect([await running.status(bearer(first)), await running.status(bearer(second))]).toEqual([401, 200]);
    expect(others.ended).toBe(false);
  });

  it("a token whose file is removed is refused, also where it was the only way in; one whose file is not right stays", async () => {
    await put("token", first);
    await using running = await started({
      bearer: [{ name: "ci", role: "admin", token: { file: "token" } }],
    });
    using stream = await running.stream(bearer(first));
    await swap("token", "short");
    await soon(async () => (await running.findings(bearer(first))).map(({ evidence }) => evidence)).toEqual([
      expect.stringContaining("auth.bearer ci: a token is at least 16 characters"),
    ]);
    expect(stream.ended).toBe(false);
    await rm(join(directory, "token"));
    await soon(() => stream.ended).toBe(true);
    expect([await running.status(bearer(first)), await running.status({})]).toEqual([401, 401]);
    await put("token", second);
    await soon(() => running.status(bearer(second))).toBe(200);
  });
});

describe("an open stream whose caller is known by a hook of the host", () => {
  const headers = { authorization: "", "x-user": "ada" };
  const open = async (authenticate: () => Principal | null | Promise<Principal | null>) => {
    const dashboard = await serving({ authenticate, authenticateAgainMs: 50, tokens: [] });
    const url = await dashboard.app.listen({ host: "127.0.0.1", port: 0 });
    return { dashboard, reader: await EventReader.open(`${url}/api/v1/events`, headers) };
  };

  it.each<[string, () => Principal | null | Promise<Principal | null>]>([
    ["lets the caller in no more", () => null],
    ["gives the caller another role", () => ({ name: "ada", role: "viewer" })],
    ["gives the caller another name", () => ({ name: "eve", role: "admin" })],
    ["rejects", () => Promise.reject(new Error("the provider is away"))],
  ])("ends once the hook %s", async (_, later) => {
    let asked = 0;
    let changed = false;
    const { dashboard, reader } = await open(() => {
      asked += 1;
      return changed ? later() : { name: "ada", role: "admin" };
    });
    await using _dashboard = dashboard;
    using _reader = reader;
    await soon(() => asked).toBeGreaterThan(3);
    expect(reader.ended).toBe(false);
    changed = true;
    await soon(() => reader.ended).toBe(true);
  });
});

it("an open stream ends where a function of the host that gives the tokens throws, and the dashboard goes on", async () => {
  const tokens = [{ name: "ci", role: "viewer" as const, token: "ci-token-0123456789" }];
  const headers = bearer("ci-token-0123456789");
  let away = false;
  await using dashboard = await serving({
    tokens: () => {
      if (away) throw new Error("the store of the secrets is away");
      return tokens;
    },
  });
  const url = await dashboard.app.listen({ host: "127.0.0.1", port: 0 });
  using reader = await EventReader.open(`${url}/api/v1/events`, headers);
  away = true;
  await soon(() => reader.ended).toBe(true);
  away = false;
  expect((await dashboard.app.inject({ url: "/api/v1/me", headers })).statusCode).toBe(200);
});

describe("a password that is being checked", () => {
  it("does not let in when its user is taken out during the check", async () => {
    const hash = await hashPassword("correct horse");
    let users: readonly BasicUser[] = [];
    // Removes the user at the moment in which the check reads the hash, before scrypt runs on it.
    const ada: BasicUser = {
      name: "ada",
      role: "admin",
      get passwordHash() {
        users = [{ name: "bob", role: "admin", passwordHash: hash }];
        return hash;
      },
    };
    users = [ada];
    await using dashboard = await serving({ users: () => users, tokens: [] });
    const answer = await dashboard.app.inject({ url: "/api/v1/me", headers: basic("ada", "correct horse") });
    expect(users.map(({ name }) => name)).toEqual(["bob"]);
    expect(answer.statusCode).toBe(401);
  });
});
