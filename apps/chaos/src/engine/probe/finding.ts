/** The result of one probe of the machine. */
export interface Finding {
  readonly there: boolean;
  /** What was found, or what is missing. */
  readonly detail: string;
  /** What to install or to set if it is missing. */
  readonly remedy?: string;
}

export function found(detail: string): Finding {
  return { there: true, detail };
}

export function lacks(detail: string, remedy: string): Finding {
  return { there: false, detail, remedy };
}
