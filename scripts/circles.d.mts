export function importCircles(): string[][];
