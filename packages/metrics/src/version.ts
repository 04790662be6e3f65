/** The version of this package. A bundle has no package.json to read it from; a test compares the two. */
export const version = "0.1.0";
