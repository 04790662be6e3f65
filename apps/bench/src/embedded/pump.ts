import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { FrameReader } from "@holdfast/zk-protocol";
import { hello, type Prebuilt } from "./frames.js";

/** A connection that sends frames unchanged and counts answers. */
export class Pump {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  #onAnswers: (count: number) => void = () => {};
  #fail: (error: Error) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server ended the connection")));
  }

  /** Opens a connection with a session. */
  static async open(port: number): Promise<Pump> {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    await once(socket, "connect");
    socket.write(hello());
    await once(socket, "data");
    return new Pump(socket);
  }

  /** Sends all frames, never with more than `inFlight` unanswered. @throws Error if an answer is an error. */
  run({ bytes, ends }: Prebuilt, inFlight: number): Promise<void> {
    const total = ends.length;
    return new Promise((resolve, reject) => {
      let sent = 0;
      let answered = 0;
      const send = (count: number): void => {
        const from = sent === 0 ? 0 : (ends[sent - 1] as number);
        sent = Math.min(total, sent + count);
        const to = ends[sent - 1] as number;
        if (to > from) this.#socket.write(bytes.subarray(from, to));
      };
      this.#fail = reject;
      this.#onAnswers = (count) => {
        answered += count;
        if (answered === total) resolve();
        else if (sent < total) send(count);
      };
      send(inFlight);
    });
  }

  destroy(): void {
    this.#fail = () => {};
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#reader.push(chunk);
    let count = 0;
    for (let frame = this.#reader.next(); frame !== null; frame = this.#reader.next()) {
      const err = frame.readInt32BE(12);
      if (err !== 0) {
        this.#fail(new Error(`answer ${frame.readInt32BE(0)} is the error ${err}`));
        return;
      }
      count++;
    }
    if (count > 0) this.#onAnswers(count);
  }
}
