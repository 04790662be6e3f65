/** So many holders and so many waiters of a lock have actions on its page: what each would do is tried out at the backend for every answer. */
export const mostOffered = 5;
