import { type IncomingMessage, request } from "node:http";
import { as } from "./serving.js";

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
  readonly id: string;
}

/** A client of server-sent events that can stop reading. */
export class EventReader implements Disposable {
  readonly events: StreamEvent[] = [];
  readonly response: IncomingMessage;
  lastEventId = "";
  ended = false;
  bytes = 0;
  #rest = "";

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding("utf8");
    response.on("data", (text: string) => this.#take(text));
    for (const end of ["end", "close", "error"])
      response.on(end, () => {
        this.ended = true;
      });
  }

  static open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const asked = request(url, { agent: false, headers: { ...as("viewer"), ...headers } }, (response) =>
        resolve(new EventReader(response)),
      );
      asked.on("error", reject);
      asked.end();
    });
  }

  of(event: string): unknown[] {
    return this.events.filter((each) => each.event === event).map(({ data }) => data);
  }

  [Symbol.dispose](): void {
    this.response.destroy();
  }

  #take(text: string): void {
    this.bytes += text.length;
    this.#rest += text;
    const blocks = this.#rest.split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = new Map(
        block.split("\n").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)] as const;
        }),
      );
      this.lastEventId = fields.get("id") ?? this.lastEventId;
      const data = fields.get("data");
      if (data !== undefined)
        this.events.push({
          event: fields.get("event") ?? "message",
          data: JSON.parse(data),
          id: this.lastEventId,
        });
    }
  }
}
