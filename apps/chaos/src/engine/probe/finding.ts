/** What one look at the machine showed. */
export interface Finding {
  readonly there: boolean;
  /** What was found, or what is missing. */
  readonly detail: string;
  /** What to install or to set, where it is not there. */
  readonly remedy?: string;
}

export function found(detail: string): Finding {
  return { there: true, detail };
}

export function lacks(detail: string, remedy: string): Finding {
  return { there: false, detail, remedy };
}
