/**
 * How many holders and how many waiters of a lock have actions on its page. The limit is low, because each answer tries
 * out every action at the backend.
 */
export const mostOffered = 5;
