import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { eventually, freePort, freePorts, TestServerError } from "../src/index.js";

test("eventually returns the first thing that is not false, null or undefined", async () => {
  const answers = [undefined, null, false, 0];
  await expect(eventually(() => answers.shift(), { what: "a number", everyMs: 1 })).resolves.toBe(0);
});

test("eventually names what was waited for, the limit, what was seen last and the detail", async () => {
  const failing = eventually(() => false, {
    what: "the moon to fall",
    withinMs: 20,
    everyMs: 1,
    detail: () => "it is up there",
  });
  await expect(failing).rejects.toThrow(
    new TestServerError("waited 20 ms for the moon to fall; last seen: false\nit is up there"),
  );
});

test("eventually takes an error for not yet, and gives the last one as the cause", async () => {
  let looks = 0;
  const cause = new Error("not there");
  const patient = eventually(
    () => {
      if (++looks < 3) throw cause;
      return "there";
    },
    { what: "it", everyMs: 1 },
  );
  await expect(patient).resolves.toBe("there");
  const failing = eventually(() => Promise.reject(cause), { what: "it", withinMs: 10, everyMs: 1 });
  await expect(failing).rejects.toMatchObject({
    message: "waited 10 ms for it; last error: not there",
    cause,
  });
});

test("eventually ends even if a look never does", async () => {
  const failing = eventually(() => new Promise<true>(() => {}), { what: "an answer", withinMs: 10 });
  await expect(failing).rejects.toThrow("waited 10 ms for an answer; last seen: a look that never ended");
});

test("eventually gives up when its signal aborts, with the reason", async () => {
  const over = new AbortController();
  let looks = 0;
  const given = eventually(
    () => {
      if (++looks === 2) over.abort(new Error("the run is over"));
      return false;
    },
    { what: "it", everyMs: 1, signal: over.signal },
  );
  await expect(given).rejects.toThrow("the run is over");
  expect(looks).toBe(2);
});

test("eventually looks once more after its limit has passed", async () => {
  let looks = 0;
  const late = eventually(() => ++looks === 2, { what: "the second look", withinMs: 0, everyMs: 50 });
  await expect(late).resolves.toBe(true);
});

test("no port is given out twice, and none that is in use", async () => {
  const ports = await freePorts(2_000);
  expect(new Set(ports).size).toBe(2_000);
  const [port = 0] = ports;
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
  await once(server, "close");
  expect(ports).not.toContain(await freePort());
});
