/** Calls at once, then at most once in every `ms`. The last request is never lost. */
export function throttle(ms: number, call: () => void): { (): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let wished = false;
  const wish = (): void => {
    if (timer !== null) {
      wished = true;
      return;
    }
    call();
    timer = setTimeout(() => {
      timer = null;
      if (!wished) return;
      wished = false;
      wish();
    }, ms);
  };
  return Object.assign(wish, {
    end(): void {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      wished = false;
    },
  });
}
