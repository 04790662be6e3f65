import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { startPostgres } from "../../../e2e/support/postgres.js";
import { measureFence } from "../src/fence.js";

it("the cost of a guarded write is measured in a database of its own, of which nothing is left", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const { serverVersion, costs } = await measureFence({ database: server.url, pairs: 20 });
  expect(serverVersion).toMatch(/^\d+/);
  expect(costs).toHaveLength(3);
  for (const { what, updateUs, transactionUs } of costs) {
    expect(updateUs, what).toBeGreaterThan(0);
    expect(transactionUs, what).toBeGreaterThan(updateUs);
  }
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query("select datname from pg_database where datname like 'holdfast%'");
  await client.end();
  expect(rows).toEqual([]);
});
