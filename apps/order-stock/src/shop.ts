// The shop as a process of its own: `node shop.js`, started with an IPC channel on which it sends its port.
import { serveShop } from "./shop/serve.js";

// Ctrl-C reaches every process in the terminal. The one that started us decides when we go.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

const { port } = await serveShop();
process.send?.({ port });
