// The shop as a process of its own: `node shop.js`, started with an IPC channel on which it sends its port.
import { serveShop } from "./shop/serve.js";

// Ctrl-C reaches every process in the terminal. The process that started this one decides when it ends.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

const { port } = await serveShop();
process.send?.({ port });
