// For the tests, which are TypeScript.
export interface UserProject {
  readonly name: string;
  readonly inShare?: boolean;
}
export const consumers: readonly UserProject[];
export function tryConsumer(project: UserProject, tarballs: ReadonlyMap<string, string>): Promise<void>;
