import { html } from "./svg.js";

const most = 200;

/** The raw records behind what was chosen. They are taken apart when they are first asked for. */
export class Records {
  /** @type {Map<number, string> | null} */
  #lines = null;

  /**
   * @param {string} text A record a line.
   * @param {boolean} partial Only some of the history are here.
   */
  constructor(text, partial) {
    this.text = text;
    this.partial = partial;
    this.title = html(
      "p",
      { id: "chosen", role: "status" },
      "Nothing is chosen yet: click what is drawn, or a finding.",
    );
    this.list = html("ol", { class: "records", id: "records" });
    this.element = html(
      "section",
      { "aria-labelledby": "records-title" },
      html("h2", { id: "records-title" }, "Raw records"),
      this.title,
      this.list,
    );
  }

  /**
   * The record with this `i`, or null when it is not in the page.
   * @param {number} i
   */
  line(i) {
    this.#lines ??= this.#parse();
    return this.#lines.get(i) ?? null;
  }

  /**
   * When a record was stamped, in microseconds.
   * @param {number} i
   */
  time(i) {
    const line = this.line(i);
    return line === null ? null : Number(JSON.parse(line).t) / 1e3;
  }

  /**
   * @param {string} title
   * @param {readonly number[]} records
   */
  show(title, records) {
    this.title.textContent = title;
    const wanted = [...new Set(records)].sort((a, b) => a - b);
    this.list.replaceChildren(
      ...wanted.slice(0, most).map((i) => {
        const line = this.line(i);
        const text =
          line ??
          `Record ${i} is not in this page, for there are too many. It is the line with "i":${i} of history.jsonl.`;
        return html("li", { "data-i": i }, html("code", line === null ? { class: "absent" } : {}, text));
      }),
    );
    if (wanted.length === 0) this.list.append(html("li", {}, "No record of its own."));
  }

  #parse() {
    /** @type {Map<number, string>} */
    const lines = new Map();
    for (const line of this.text.split("\n")) {
      const i = /"i":(\d+)/.exec(line)?.[1];
      if (i !== undefined) lines.set(Number(i), line);
    }
    return lines;
  }
}
