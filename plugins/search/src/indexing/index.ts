// Exports for tests. Sources import the files directly.

export { PdfProcess } from '../pdf/pdf-process.ts'
export { chunkLines, chunkMarkdown } from './chunk.ts'
export { htmlText } from './html-text.ts'
export { IndexStore } from './index-store.ts'
export { IndexThread } from './index-thread.ts'
export { Indexer } from './indexer.ts'
export { nameWords, Outlines } from './outline.ts'
export { ProjectIndex } from './project-index.ts'
export { SourceIndexer } from './source-indexer.ts'
export { SourceStore } from './source-store.ts'
export { walk } from './walk.ts'
