import type { AuditRow } from "../contract/api.js";

const mostWaiting = 100;
const answerMs = 5_000;
/** How long the dashboard, when it closes, waits for rows that are not sent yet. */
const drainMs = 3_000;

export interface WebhookOptions {
  readonly url: string;
  /** The value of the `authorization` header. */
  readonly authorization?: string;
  readonly onFailure: (message: string) => void;
}

/** Sends audit rows to a webhook, one after the other. No action waits for this or depends on it. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #rows: AuditRow[] = [];
  readonly #end = new AbortController();
  #sending: Promise<void> | undefined;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  send(row: AuditRow): void {
    if (this.#rows.length >= mostWaiting) {
      this.#options.onFailure("the audit webhook is too slow: a row was left out");
      return;
    }
    this.#rows.push(row);
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /**
   * Resolves when every row has been tried, or when the time is over. The remaining rows are then dropped and reported
   * as a failure.
   */
  async drained(): Promise<void> {
    const timer = setTimeout(() => this.#end.abort(), drainMs);
    await this.#sending;
    clearTimeout(timer);
  }

  async #sendAll(): Promise<void> {
    const { url, authorization, onFailure } = this.#options;
    for (let row = this.#rows.shift(); row !== undefined; row = this.#rows.shift()) {
      if (this.#end.signal.aborted) {
        onFailure(`the dashboard ends: ${this.#rows.length + 1} rows were not sent to the audit webhook`);
        return;
      }
      try {
        const answer = await fetch(url, {
          method: "POST",
          redirect: "error",
          headers: {
            "content-type": "application/json",
            ...(authorization === undefined ? {} : { authorization }),
          },
          body: JSON.stringify(row),
          signal: AbortSignal.any([AbortSignal.timeout(answerMs), this.#end.signal]),
        });
        await answer.body?.cancel();
        if (!answer.ok) onFailure(`the audit webhook answered ${answer.status}`);
      } catch (error) {
        onFailure(`the audit webhook failed: ${kindOf(error as Error)}`);
      }
    }
  }
}

/** What failed, without the message: that of a header that cannot be sent repeats the header, and so the secret. */
function kindOf({ name, cause }: Error): string {
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? name;
}
