export interface ScreenOptions {
  /** Where to write; `process.stdout` has all of these members. */
  readonly out: {
    write(text: string): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Style = "bold" | "dim" | "good" | "bad";

const styles: Readonly<Record<Style, string>> = { bold: "1", dim: "2", good: "32", bad: "31" };

/** What is shown as long as it is true: several rows if they can be redrawn in place, else one line. */
export interface LivePicture {
  readonly rows: readonly string[];
  readonly line: string;
}

/**
 * Lines that stay, above a picture that is redrawn in place. If nothing can be redrawn (a pipe, a file, a CI log), each
 * change of the picture becomes a line.
 */
export class Screen {
  readonly #out: ScreenOptions["out"];
  readonly #redraws: boolean;
  readonly #colours: boolean;
  #picture: LivePicture | null = null;
  #rowsShown = 0;

  constructor({ out, env }: ScreenOptions) {
    const terminal = out.isTTY === true && env.TERM !== "dumb";
    this.#out = out;
    this.#redraws = terminal;
    this.#colours = terminal && (env.NO_COLOR ?? "") === "";
  }

  styled(style: Style, text: string): string {
    return this.#colours ? `\u001b[${styles[style]}m${text}\u001b[0m` : text;
  }

  line(text = ""): void {
    const rows = this.#picture?.rows ?? [];
    this.#out.write(`${this.#erased()}${text}\n${this.#redraws ? this.#drawn(rows) : ""}`);
  }

  show(picture: LivePicture): void {
    const changed = picture.line !== this.#picture?.line;
    this.#picture = picture;
    if (this.#redraws) this.#out.write(`${this.#erased()}${this.#drawn(picture.rows)}`);
    else if (changed) this.#out.write(`${picture.line}\n`);
  }

  /** Removes the picture. */
  clear(): void {
    this.#picture = null;
    if (this.#redraws) this.#out.write(this.#erased());
  }

  #erased(): string {
    const erased = this.#rowsShown === 0 ? "" : `\u001b[${this.#rowsShown}A\r\u001b[0J`;
    this.#rowsShown = 0;
    return erased;
  }

  /** Rows are cut to the width of the screen. A row that wraps would take two lines and spoil the count. */
  #drawn(rows: readonly string[]): string {
    this.#rowsShown = rows.length;
    const width = Math.max(20, (this.#out.columns ?? 80) - 1);
    return rows.map((row) => `${row.length > width ? `${row.slice(0, width - 1)}…` : row}\n`).join("");
  }
}
