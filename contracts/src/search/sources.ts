import { point } from '@svc/plugin-sdk'

/** Sources of documents that the index of the search reads. Two sources with the same name are a conflict. */
export const searchSources = point<SearchSource>('search.sources', { keys: source => [source.name] })

/** Corpora that documents of a source may belong to. */
export const SEARCH_SOURCE_CORPORA = ['document_chunks', 'knowledge_graph'] as const
export type SearchSourceCorpus = (typeof SEARCH_SOURCE_CORPORA)[number]

export interface SearchSource {
  /** Unique name of lower-case letters, digits and `-`, such as `wiki`; not `repo`. Documents are `wiki:KEY`. */
  readonly name: string
  /** `knowledge_graph`: each document becomes a node. `document_chunks` (default): it is split into passages. */
  readonly corpus?: SearchSourceCorpus
  /**
   * Lists all documents, at most 100,000; the order does not matter. Those with a new version are read, and those that
   * are no longer listed leave the index. If it throws, the index keeps what it has of the source.
   */
  list(signal: AbortSignal): Promise<readonly SearchSourceEntry[]>
  /** Reads a document; null if it is gone. If it throws, the document is read again in the next run. */
  read(key: string, signal: AbortSignal): Promise<SearchSourceDocument | null>
  /**
   * Calls `changed` after documents may have changed, in a process that serves; the source is then listed again.
   * Returns a function that ends this.
   */
  watch?(changed: () => void): () => void
}

export interface SearchSourceEntry {
  /** Identity within the source, 1 to 2,048 characters, without U+0000 and lone surrogates. */
  readonly key: string
  /** Differs when the document has changed, such as a time or a hash; 1 to 200 characters. */
  readonly version: string
}

export interface SearchSourceDocument {
  /** At most 1,000 characters. */
  readonly title: string
  /** At most `index_max_file_bytes` of the search's settings. */
  readonly text: string
  /** `markdown` is split at its headings. Default `plain`. */
  readonly format?: 'plain' | 'markdown'
}
