// For the tests, which are TypeScript.
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
export interface Published {
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
}
export function published(): Promise<Published[]>;
export function packAll(folder: string): Promise<Map<string, string>>;
