module.exports = {
  testMatch: ["**/required.cjs"],
  transform: { "\\.c?js$": ["babel-jest", { plugins: ["@babel/plugin-transform-modules-commonjs"] }] },
  transformIgnorePatterns: ["/node_modules/(?!@holdfast/)"],
};
