/** Undoes what the formatter does to a Markdown text: it aligns the columns of tables, and nothing else. */
export const unaligned = (text: string): string => text.replace(/ *\| */g, "|").replace(/-{3,}/g, "---");
