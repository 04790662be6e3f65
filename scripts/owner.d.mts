// For the tests, which are TypeScript.
export interface Owner {
  readonly owner: string;
  readonly repository: string;
  readonly homepage: string;
  readonly securityContact: string;
}
export function readOwner(): Promise<Owner>;
export function ownerFields(owner: Owner, folder: string): Readonly<Record<string, unknown>>;
export function ownedFiles(owner: Owner): Promise<Readonly<Record<string, string | null>>>;
