const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** `8,412` */
export const count = (value: number): string => grouped.format(value);

/** `12.5` below a hundred, whole numbers above. */
export const rate = (value: number): string => (value < 100 ? fine : grouped).format(value);

/** Rounded down, so that 100 % means all. 0 % means nothing. */
export function percent(share: number): string {
  if (share >= 1) return "100 %";
  if (share > 0 && share < 0.01) return "< 1 %";
  return `${Math.floor(Math.max(0, share) * 100)} %`;
}

/** `complete`, or how much of what there is has been read. */
export const readSoFar = (share: number): string =>
  share >= 1 ? "complete" : `${percent(share)} read so far`;

/** `1 lock`, `2 locks` */
export const many = (value: number, one: string, more = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : more}`;
