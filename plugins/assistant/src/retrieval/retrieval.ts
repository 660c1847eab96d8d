import type { DatabaseStore } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import { searchKnowledge } from './knowledge-search.ts'
import type { Passage } from './passage.ts'
import { searchRepository } from './repository-search.ts'
import { queryTerms } from './terms.ts'

const REPOSITORY_RESULTS = 6
const KNOWLEDGE_RESULTS = 3

export interface Retrieved {
  readonly found: readonly Passage[]
  readonly terms: readonly string[]
  /** Share of the terms that were found, [0, 1]; 1 if there are no terms. */
  readonly termCoverage: number
  /** Terms that were not found. */
  readonly missing: readonly string[]
  /** Kind of the evidence, as the quality gate names it. */
  readonly tier: 'bm25' | 'lexical_fallback' | 'none'
  readonly listedBy: 'git' | 'walk' | null
  readonly filesRead: number
  readonly knowledgeBy: 'fts5' | 'scan' | null
  readonly truncated: boolean
  /** Why a search failed; null if none did. */
  readonly problem: string | null
  /** Listed files of the project. */
  readonly paths: ReadonlySet<string>
}

export interface RetrievalParts {
  readonly projectRoot: string
  readonly database: () => DatabaseStore | undefined
  readonly log: Logger
}

/** Returns project files and stored knowledge that match a question. A failed search is reported and left out. */
export async function retrieve(
  { projectRoot, database, log }: RetrievalParts,
  question: string,
  files: number,
  signal: AbortSignal
): Promise<Retrieved> {
  const terms = queryTerms(question)
  const problems: string[] = []
  const failed = (label: string) => (error: unknown) => {
    signal.throwIfAborted()
    const reason = errorMessage(error)
    log.warn(`${label} could not be searched`, { reason })
    problems.push(`${label}: ${reason}`)
    return null
  }
  const store = database()
  const [repository, knowledge] = await Promise.all([
    searchRepository(projectRoot, terms, { files, results: REPOSITORY_RESULTS }, signal).catch(
      failed('files of the project')
    ),
    store === undefined ? null : searchKnowledge(store, terms, KNOWLEDGE_RESULTS).catch(failed('stored knowledge'))
  ])
  const found = [...(repository?.found ?? []), ...(knowledge?.found ?? [])]
  const matched = new Set(found.flatMap(each => each.matched))
  const missing = terms.filter(term => !matched.has(term))
  const byRank = repository !== null || knowledge?.by === 'fts5'
  return {
    found,
    terms,
    termCoverage: terms.length === 0 ? 1 : 1 - missing.length / terms.length,
    missing,
    tier: terms.length === 0 ? 'none' : byRank ? 'bm25' : knowledge?.by === 'scan' ? 'lexical_fallback' : 'none',
    listedBy: repository?.by ?? null,
    filesRead: repository?.filesRead ?? 0,
    knowledgeBy: knowledge?.by ?? null,
    truncated: repository?.truncated ?? false,
    problem: problems.length === 0 ? null : problems.join('; '),
    paths: repository?.paths ?? new Set()
  }
}

/** An empty result. */
export const NOTHING_SEARCHED: Retrieved = {
  found: [],
  terms: [],
  termCoverage: 1,
  missing: [],
  tier: 'none',
  listedBy: null,
  filesRead: 0,
  knowledgeBy: null,
  truncated: false,
  problem: null,
  paths: new Set()
}
