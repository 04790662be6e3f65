import { expect, test } from "vitest";
import { ShopClient } from "../src/shop/client.js";
import { serveShop } from "../src/shop/serve.js";
import { Shop } from "../src/shop/shop.js";

test("the shop sells what it has not got: looking first is the customer's part", () => {
  const shop = new Shop();
  shop.restock(1);
  expect(shop.sell("a", null)).toMatchObject({ sold: true, stock: 0 });
  expect(shop.sell("b", null)).toMatchObject({ sold: true, stock: -1 });
  expect(shop.report()).toEqual({ stock: -1, lowestStock: -1, buyers: ["a", "b"], refused: 0 });
});

test("a sale with a token smaller than one seen before is refused and changes nothing", () => {
  const shop = new Shop();
  shop.restock(3);
  expect(shop.sell("new", 9n)).toEqual({ sold: true, stock: 2, highestToken: "9" });
  expect(shop.sell("old", 8n)).toEqual({ sold: false, stock: 2, highestToken: "9" });
  expect(shop.sell("new", 9n)).toEqual({ sold: true, stock: 1, highestToken: "9" });
  expect(shop.report()).toEqual({ stock: 1, lowestStock: 1, buyers: ["new", "new"], refused: 1 });
});

test("a new stock does not make an old token good again", () => {
  const shop = new Shop();
  shop.restock(1);
  shop.sell("new", 9n);
  shop.restock(1);
  expect(shop.sell("old", 8n).sold).toBe(false);
});

test("over the socket, answers belong to their requests and tokens keep all 64 bits", async () => {
  const { server, port } = await serveShop();
  const shop = await ShopClient.connect(port);
  try {
    const large = 2n ** 62n + 1n;
    await shop.restock(2);
    const [stock, sale, late, report] = await Promise.all([
      shop.look(),
      shop.sell("new", large),
      shop.sell("old", large - 1n),
      shop.report(),
    ]);
    expect(stock).toBe(2);
    expect(sale).toEqual({ sold: true, stock: 1, highestToken: large.toString() });
    expect(late.sold).toBe(false);
    expect(report).toEqual({ stock: 1, lowestStock: 1, buyers: ["new"], refused: 1 });
  } finally {
    shop.close();
    server.close();
  }
});

test("a request on a connection that has ended rejects, and so does one that was waiting", async () => {
  const { server, port } = await serveShop();
  const shop = await ShopClient.connect(port);
  const waiting = shop.look();
  shop.close();
  await expect(waiting).rejects.toThrow("the shop has hung up");
  await expect(shop.look()).rejects.toThrow("the shop has hung up");
  server.close();
});
