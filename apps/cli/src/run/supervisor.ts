/** The hidden command of the second process. */
export const superviseName = "__supervise";

export function supervise(): void {}
