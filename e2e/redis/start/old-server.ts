import { connect, createServer, type Socket } from "node:net";

/**
 * A link to a real server, on which the server calls itself 6.2.15. The text is cut off, or filled with zeros, to the length of
 * its real version.
 */
export async function oldServer(port: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const up = connect({ host: "127.0.0.1", port });
    for (const socket of [client, up]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        up.destroy();
      });
    }
    client.pipe(up);
    up.on("data", (data: Buffer) => {
      const told = data
        .toString("latin1")
        .replace(
          /redis_version:([\d.]+)/,
          (_, version: string) =>
            `redis_version:${"6.2.15".slice(0, version.length).padEnd(version.length, "0")}`,
        );
      client.write(Buffer.from(told, "latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens nowhere");
  return {
    port: address.port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
