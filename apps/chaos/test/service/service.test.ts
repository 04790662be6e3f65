import { describe, expect, it } from "vitest";
import { readRunArguments } from "../../src/cli/run-options.js";
import { againOf } from "../../src/cli/shrink-found.js";
import { instanceOf } from "../../src/engine/service-instance.js";
import { probe } from "../../src/probe/index.js";

const read = (...args: string[]) => readRunArguments(args, () => 99);
const service = ["--service", "node server.js", "--key", "stock", "--lease-ms", "5000"];

describe("arguments of run for a service", () => {
  it("make a scenario of each fault, aimed at the first lock and longer than the lease where it is a wait", () => {
    const wanted = read(...service, "--key", "orders", "--times", "1");
    expect(wanted?.scenarios.map(({ id }) => id)).toEqual(["kill", "pause", "cut", "reset"]);
    const [pause] = read("pause", ...service, "--times", "1")?.scenarios ?? [];
    expect(pause?.plan({} as never, 0)).toEqual([
      {
        fault: "worker.pause",
        target: "holder(stock)",
        after: "granted(stock, 2)",
        atMs: 0,
        forMs: 10_000,
        options: { working: true },
      },
    ]);
    expect(pause?.expect.pass).toEqual(["effect", "lost-update", "heal-liveness"]);
    expect(pause?.expect.report).toContain("belief");
    expect(wanted?.scenarios[2]?.expect.pass).toContain("belief");
  });

  it("want one instance to be served after a fault, because a lock without a queue may serve its last holder again", () => {
    const checks = read(...service)?.scenarios.map(({ check }) => check?.healClients);
    expect(checks).toEqual([1, 1, 1, 1]);
  });

  it.each([
    [["--service", "node s.js", "--lease-ms", "5000"], "--service needs --key"],
    [["--service", "node s.js", "--key", "stock"], "--service needs --lease-ms"],
    [["--service", "node s.js", "--key", "a b", "--lease-ms", "5000"], "--key is of letters"],
    [[...service, "--env", "PORT"], '--env is NAME=VALUE; not "PORT"'],
    [[...service, "--servers", "etcd"], "--servers is redis or zookeeper"],
    [[...service, "--client", "./x.mjs"], "--service has scenarios of its own"],
    [["R03", "--load", "./load.mjs"], "--load is for --service"],
    [["R03", "--tells-loss"], "--tells-loss is for --service"],
    [["R02", ...service], "there is no scenario R02"],
    [["R03", "--client", "a.mjs", "--worker", "b"], "give --client or --worker, not both"],
    [["R03", "--expect", "belief"], "--expect is for --client or --worker"],
    [
      ["R03", "--client", "a.mjs", "--shrink"],
      "--shrink looks for what convicts the clients of this package",
    ],
  ])("are refused as %j with the reason", (args, why) => {
    expect(() => read(...args)).toThrow(why);
  });

  it("judge when a loss is reported with `--tells-loss`, and say without it that they are not judged by that", () => {
    const [silent] = read("cut", ...service)?.scenarios ?? [];
    expect(silent?.expect.pass).toEqual(["effect", "lost-update", "heal-liveness", "belief", "mutex"]);
    expect(silent?.check?.only).not.toContain("lost-notice");
    expect(silent?.subject?.notJudged["lost-notice"]).toContain("not said to tell a holder of its loss");
    const telling = read("cut", ...service, "--tells-loss") as NonNullable<ReturnType<typeof read>>;
    expect(telling.scenarios[0]?.expect.pass).toContain("lost-notice");
    expect(telling.scenarios[0]?.subject?.notJudged).not.toHaveProperty("lost-notice");
    expect(againOf(telling, "cut")).toMatch(/ --lease-ms 5000 --tells-loss$/);
  });

  it("are all in the line that runs one again", () => {
    const wanted = read("cut", ...service, "--env", "URL=redis://{redis}", "--seed", "7");
    expect(againOf(wanted as NonNullable<typeof wanted>, "cut")).toBe(
      "holdfast-chaos run cut --seed 7 --service 'node server.js' --instances 3 --servers redis --times 2 --key stock " +
        "--lease-ms 5000 --env 'URL=redis://{redis}'",
    );
  });
});

it("an instance gets its placeholders filled in, and what its probe needs", () => {
  const about = {
    env: { URL: "redis://{redis}", OTHER: "{unknown} {zookeeper}" },
    ready: null,
    keys: ["stock"],
    ports: [1_000, 2_000],
  };
  const { args, env } = instanceOf({ command: "/bin/sh", args: ["-c", "exec node s.js {port} {n}"] }, about, {
    name: "s1",
    p: "s1#0",
    clockBase: "5",
    resource: "127.0.0.1:9",
    servers: { kind: "redis", address: { host: "127.0.0.1", port: 6 } },
  });
  expect(args).toEqual(["-c", "exec node s.js 2000 1"]);
  expect(env).toMatchObject({ URL: "redis://127.0.0.1:6", OTHER: "{unknown} {zookeeper}" });
  expect(JSON.parse(env?.CHAOS_PROBE ?? "")).toEqual({
    fd: 4,
    p: "s1#0",
    clockBase: "5",
    resource: "127.0.0.1:9",
    keys: ["stock"],
  });
});

it("outside a run the probe does nothing, whatever it is given", async () => {
  expect(probe.active).toBe(false);
  const acquiring = probe.acquiring("anything");
  acquiring.refused();
  acquiring.unknown(new Error("no"));
  const held = acquiring.granted({ token: 7n, remainingMs: 5, lost: AbortSignal.abort() });
  expect(await held.write()).toBe(true);
  const releasing = held.releasing();
  releasing.ok();
  releasing.fail();
  releasing.unknown();
});
