import { describe, expect, it, onTestFinished } from "vitest";
import { MissingPeer, PeerProcess } from "../src/peers/peer-process.js";

/** A process that prints `first`, and then one of `answers` for each line that it gets. */
function saying(first: object, ...answers: object[]): Promise<PeerProcess> {
  const script = `
    const lines = ${JSON.stringify(answers.map((each) => JSON.stringify(each)))};
    console.log(${JSON.stringify(JSON.stringify(first))});
    process.stdin.on("data", () => {
      if (lines.length > 0) return console.log(lines.shift());
      console.error("out of lines");
      process.exit(3);
    });
    process.stdin.on("end", () => process.exit(0));`;
  return PeerProcess.start({ program: process.execPath, args: ["-e", script] });
}

async function started(...lines: Parameters<typeof saying>): Promise<PeerProcess> {
  const peer = await saying(...lines);
  onTestFinished(() => peer.kill());
  return peer;
}

describe("the process of a peer", () => {
  it("reports its versions first, and then answers", async () => {
    const peer = await started({ ready: { library: "1.2" } }, { ok: { operations: 7 } });
    expect(peer.versions).toEqual({ library: "1.2" });
    expect(await peer.ask({ do: "drain" }, 10_000)).toEqual({ operations: 7 });
  });

  it("that lacks its library is a missing peer, with what is not there", async () => {
    await expect(saying({ missing: "Cannot find package 'library'" })).rejects.toThrow(MissingPeer);
    await expect(saying({ missing: "Cannot find package 'library'" })).rejects.toThrow("'library'");
  });

  it("rejects with what the peer says when it fails", async () => {
    const peer = await started({ ready: {} }, { error: "no session" });
    await expect(peer.ask({ do: "close" }, 10_000)).rejects.toThrow("close: no session");
  });

  it("that ends in the middle rejects with its code and the end of its error output", async () => {
    const peer = await started({ ready: {} });
    await expect(peer.ask({ do: "close" }, 10_000)).rejects.toThrow("its process ended with 3: out of lines");
    await expect(peer.ask({ do: "close" }, 10_000)).rejects.toThrow("its process ended with 3");
  });

  it("that does not answer in time rejects, and can be killed", async () => {
    const peer = await PeerProcess.start({
      program: process.execPath,
      args: ["-e", `console.log('{"ready":{}}'); setInterval(() => {}, 1_000)`],
    });
    await expect(peer.ask({ do: "drain" }, 50)).rejects.toThrow("drain: no answer within 50 ms");
    await peer.kill();
    await expect(peer.ask({ do: "drain" }, 50)).rejects.toThrow("its process ended with SIGKILL");
  });

  it("that cannot be started rejects with why", async () => {
    await expect(PeerProcess.start({ program: "/no/such/program", args: [] })).rejects.toThrow("ENOENT");
  });
});
