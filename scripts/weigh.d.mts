// For the tests, which are TypeScript.
export interface Weight {
  readonly own: number;
  readonly installed: number;
}
export const limits: Readonly<Record<string, Weight>>;
export const imports: readonly { readonly name: string; readonly client: string }[];
export function weigh(folder: string, name: string): Promise<Weight & { readonly packages: number }>;
export function importTimes(
  folder: string,
  names: readonly string[],
  starts: number,
): Promise<Map<string, { readonly cpu: number; readonly wall: number }[]>>;
