/** A history that cannot be judged. Says in which line, and why. */
export class HistoryError extends Error {
  /** The number of the line, from 1; 0 if no single line is wrong. */
  readonly line: number;
  readonly reason: string;

  constructor(line: number, reason: string) {
    super(line > 0 ? `line ${line}: ${reason}` : reason);
    this.name = "HistoryError";
    this.line = line;
    this.reason = reason;
  }
}
