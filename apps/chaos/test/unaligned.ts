/** A Markdown text without what the formatter does to tables: it aligns their columns, and nothing else. */
export const unaligned = (text: string): string => text.replace(/ *\| */g, "|").replace(/-{3,}/g, "---");
