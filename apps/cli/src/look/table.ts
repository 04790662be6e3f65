/** A column of a table for people. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly right?: boolean;
  /**
   * If the table is too wide, a longer text is cut to no less than this many cells. Without this field the column is
   * never cut.
   */
  readonly least?: number;
  /**
   * Where cutting is not enough, columns with this field are left out, the highest number first. Without it the column
   * always stays.
   */
  readonly leaveOut?: number;
  /** Cuts the middle of a long text, as names differ at their beginning and end. Otherwise the end is cut. */
  readonly middle?: boolean;
}

/**
 * The value of the variable COLUMNS, else the width of the terminal. Lines that go into a file or a pipe are not cut
 * otherwise.
 */
export function widthOf({ isTty }: { readonly isTty: boolean }): number {
  const told = Number(process.env.COLUMNS);
  if (Number.isInteger(told) && told > 0) return told;
  return isTty ? (process.stdout.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/**
 * The rows below their titles. No line is longer than `width`, as far as columns can be cut or left out. No line end
 * follows the last line.
 */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string {
  const cells = new Map(columns.map((column) => [column, rows.map((row) => column.text(row))]));
  const natural = (column: Column<Row>): number =>
    Math.max(...[column.title, ...(cells.get(column) ?? [])].map(cellsOf));
  let shown = columns;
  let widths = fitted(shown, shown.map(natural), width);
  while (widths === null) {
    const least = shown.filter(({ leaveOut }) => leaveOut !== undefined);
    const gone = least.reduce<Column<Row> | undefined>(
      (most, each) => ((each.leaveOut ?? 0) > (most?.leaveOut ?? 0) ? each : most),
      undefined,
    );
    if (gone === undefined) {
      widths = shown.map((column) =>
        Math.min(natural(column), Math.max(cellsOf(column.title), column.least ?? Number.POSITIVE_INFINITY)),
      );
      break;
    }
    shown = shown.filter((each) => each !== gone);
    widths = fitted(shown, shown.map(natural), width);
  }
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, at) => {
        const column = shown[at] as Column<Row>;
        const room = widths[at] as number;
        const cut = column.middle === true ? cutMiddle(text, room) : cutEnd(text, room);
        const blanks = " ".repeat(Math.max(0, room - cellsOf(cut)));
        return column.right === true ? blanks + cut : cut + blanks;
      })
      .join(gap)
      .trimEnd();
  const body = rows.map((_, at) => line(shown.map((column) => cells.get(column)?.[at] ?? "")));
  return [line(shown.map(({ title }) => title)), ...body].join("\n");
}

const gap = "  ";

/**
 * Widths that fit into `width`, or `null` if there are none. Of the columns that may be cut, the widest is cut first.
 */
function fitted<Row>(
  columns: readonly Column<Row>[],
  natural: readonly number[],
  width: number,
): number[] | null {
  const widths = [...natural];
  let over = widths.reduce((sum, each) => sum + each, gap.length * (widths.length - 1)) - width;
  while (over > 0) {
    let widest = -1;
    for (const [at, column] of columns.entries()) {
      const least = Math.max(column.least ?? Number.POSITIVE_INFINITY, cellsOf(column.title));
      const room = widths[at] as number;
      if (room > least && (widest === -1 || room > (widths[widest] as number))) widest = at;
    }
    if (widest === -1) return null;
    widths[widest] = (widths[widest] as number) - 1;
    over -= 1;
  }
  return widths;
}

/**
 * How many cells of a terminal a text takes. A character of an East Asian script and most emoji take two, a combining
 * mark takes none.
 */
export function cellsOf(text: string): number {
  let cells = 0;
  for (const char of text) cells += cellsOfChar(char);
  return cells;
}

function cellsOfChar(char: string): number {
  if (char >= " " && char <= "~") return 1;
  if (/\p{M}/u.test(char)) return 0;
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u.test(
    char,
  )
    ? 2
    : 1;
}

function cutEnd(text: string, room: number): string {
  return cellsOf(text) <= room ? text : `${beginning(text, room - 1)}…`;
}

function cutMiddle(text: string, room: number): string {
  if (cellsOf(text) <= room) return text;
  const head = beginning(text, Math.ceil((room - 1) * 0.6));
  const end = beginning([...text].reverse().join(""), room - 1 - cellsOf(head));
  return `${head}…${[...end].reverse().join("")}`;
}

function beginning(text: string, room: number): string {
  let kept = "";
  let left = room;
  for (const char of text) {
    left -= cellsOfChar(char);
    if (left < 0) break;
    kept += char;
  }
  return kept;
}
