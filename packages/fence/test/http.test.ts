import fastify from "fastify";
import { describe, expect, it } from "vitest";
import { fastifyFence, fenceHeaders, readFences } from "../src/index.js";
import { holder } from "./handles.js";

describe("the header of a fence", () => {
  it("carries resource, epoch, token and turn of several locks, whatever characters and digits they have", () => {
    const writers = [
      holder("orders/42", 9_007_199_254_740_993n, 3),
      { resource: "a=b, c", handle: holder("x", 1n) },
    ];
    const headers = fenceHeaders(writers, { epoch: 2 });
    expect(headers).toEqual({
      "holdfast-fence": "orders%2F42=2.9007199254740993.3, a%3Db%2C%20c=2.1.0",
    });
    expect(readFences(headers["holdfast-fence"])).toEqual([
      { resource: "orders/42", epoch: 2, token: 9_007_199_254_740_993n, turn: 3 },
      { resource: "a=b, c", epoch: 2, token: 1n, turn: 0 },
    ]);
    expect(readFences(undefined)).toEqual([]);
  });

  it("carries the largest epoch that a writer may have", () => {
    const headers = fenceHeaders(holder("a", 1n), { epoch: Number.MAX_SAFE_INTEGER });
    expect(readFences(headers["holdfast-fence"])).toEqual([
      { resource: "a", epoch: Number.MAX_SAFE_INTEGER, token: 1n, turn: 0 },
    ]);
  });

  it.each([
    "orders",
    "a=1",
    "a=1.2",
    "=0.1.0",
    "a=0.-1.0",
    "a=0.1.0.",
    "%=0.1.0",
    "a=0.1e3.0",
    `a=0.${"9".repeat(39)}.0`,
    "a=0.1.0,,",
    "a=0.1.65536",
    "a=9007199254740992.1.0",
  ])("that is %s is refused", (header) => {
    expect(() => readFences(header)).toThrow(/holdfast-fence/);
  });
});

describe("a route of Fastify behind a fence", () => {
  async function service(options: { admit?: () => boolean; maxResources?: number } = {}) {
    const app = fastify();
    const preHandler = fastifyFence<{
      headers: Record<string, string | string[] | undefined>;
      params: unknown;
    }>({
      resource: ({ params }) => `orders/${(params as { id: string }).id}`,
      ...options,
    });
    app.put("/orders/:id", { preHandler: preHandler as never }, async () => "written");
    await app.ready();
    const put = async (headers: Record<string, string>, id = 42) => {
      const { statusCode, body } = await app.inject({ method: "PUT", url: `/orders/${id}`, headers });
      return [statusCode, body] as const;
    };
    return { put, close: () => app.close() };
  }

  it("takes rising tokens and epochs, and refuses late ones", async () => {
    const { put, close } = await service();
    expect(await put(fenceHeaders(holder("orders/42", 7n)))).toEqual([200, "written"]);
    expect(await put(fenceHeaders(holder("orders/42", 7n)))).toEqual([200, "written"]);
    const [status, body] = await put(fenceHeaders(holder("orders/42", 6n)));
    expect([status, JSON.parse(body)]).toEqual([
      412,
      { code: "HF_FENCED_OUT", message: "a later holder of orders/42 has written", resource: "orders/42" },
    ]);
    expect((await put(fenceHeaders(holder("orders/42", 1n), { epoch: 1 })))[0]).toBe(200);
    expect((await put(fenceHeaders(holder("orders/42", 99n))))[0]).toBe(412);
    await close();
  });

  it("refuses a request without a fence of its resource, and a header that is none", async () => {
    const { put, close } = await service();
    expect((await put({}))[0]).toBe(428);
    expect((await put(fenceHeaders(holder("orders/43", 7n))))[0]).toBe(428);
    expect((await put({ "holdfast-fence": "nonsense" }))[0]).toBe(400);
    expect((await put({ "holdfast-fence": "orders%2F42=0.7.65536" }))[0]).toBe(400);
    expect((await put({ "holdfast-fence": "orders%2F42=0.7.65535" }))[0]).toBe(200);
    await close();
  });

  it("asks the gate that it was given", async () => {
    const { put, close } = await service({ admit: () => false });
    expect((await put(fenceHeaders(holder("orders/42", 7n))))[0]).toBe(412);
    await close();
  });

  it("remembers as many resources as maxResources says, and lets no further one pass", async () => {
    const { put, close } = await service({ maxResources: 1 });
    expect((await put(fenceHeaders(holder("orders/42", 7n))))[0]).toBe(200);
    expect((await put(fenceHeaders(holder("orders/43", 7n)), 43))[0]).toBe(500);
    expect((await put(fenceHeaders(holder("orders/42", 8n))))[0]).toBe(200);
    await close();
  });
});
