import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { ShopAnswers, ShopRequest } from "./protocol.js";
import { Shop } from "./shop.js";

/** Opens a shop on a free port of 127.0.0.1. Closing the server does not end the connections of customers. */
export async function serveShop(): Promise<{ server: Server; port: number }> {
  const shop = new Shop();
  const server = createServer((socket) => serve(shop, socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

function serve(shop: Shop, socket: Socket): void {
  socket.setNoDelay(true);
  // A worker that was killed resets its connection. Its sales count all the same, and no client is left to answer.
  socket.on("error", () => socket.destroy());
  const lines = createInterface({ input: socket });
  lines.on("line", (line) => {
    const request = requestOf(line);
    if (request === null) socket.destroy();
    else socket.write(`${JSON.stringify(answer(shop, request))}\n`);
  });
  // readline passes on the errors of its input.
  lines.on("error", () => socket.destroy());
}

/** `null` if the line is no request, for instance the beginning of one whose worker was killed while it wrote. */
function requestOf(line: string): ShopRequest | null {
  try {
    return JSON.parse(line) as ShopRequest;
  } catch {
    return null;
  }
}

function answer(shop: Shop, request: ShopRequest): ShopAnswers[ShopRequest["op"]] {
  switch (request.op) {
    case "restock":
      shop.restock(request.items);
      return null;
    case "look":
      return shop.look();
    case "sell":
      return shop.sell(request.buyer, request.token === null ? null : BigInt(request.token));
    case "report":
      return shop.report();
  }
}
