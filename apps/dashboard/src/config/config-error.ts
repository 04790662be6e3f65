/**
 * The configuration cannot be right. The message says where and what. It never shows a value, because that may be a
 * secret in the wrong place.
 */
export class ConfigError extends Error {
  /** The name of this class. */
  override readonly name: string = "ConfigError";
}
