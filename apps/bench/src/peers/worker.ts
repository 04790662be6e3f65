// One peer that runs in Node.js, in a process of its own: node worker.js <file of ./node without its ending>
import { createInterface } from "node:readline";
import type { Request } from "./protocol.js";
import { type NodePeer, Turns } from "./turns.js";

const tell = (message: object): boolean => process.stdout.write(`${JSON.stringify(message)}\n`);

async function load(file: string): Promise<NodePeer | undefined> {
  try {
    const module = (await import(`./node/${file}.js`)) as { readonly peer: NodePeer };
    return module.peer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    // The rest of the message contains paths of this machine, so it is cut off.
    tell({ missing: (error as Error).message.split(" imported from")[0] });
    return undefined;
  }
}

async function serve(peer: NodePeer): Promise<void> {
  let turns = new Turns([]);
  const answer = async (request: Request): Promise<unknown> => {
    switch (request.do) {
      case "connect": {
        const { server, clients } = request;
        turns = new Turns(await Promise.all(Array.from({ length: clients }, () => peer.connect(server))));
        return {};
      }
      case "loop":
        return turns.loop(request);
      case "queue":
        await turns.queue(request);
        return {};
      case "drain":
        return turns.drain();
      case "close":
        await turns.close();
        return {};
    }
  };
  tell({ ready: { ...peer.versions, "Node.js": process.versions.node } });
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      tell({ ok: await answer(JSON.parse(line) as Request) });
    } catch (error) {
      tell({ error: (error as Error).message });
    }
  }
}

const peer = await load(process.argv[2] ?? "");
if (peer !== undefined) await serve(peer);
process.exit(0);
