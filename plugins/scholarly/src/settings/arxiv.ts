/** Settings of the adapter `arxiv`. */
export const arxivSettings = {}
