import type { SearchHit, SearchService } from '@svc/contracts'
import { queryTerms } from '../../plugins/search/src/plan/words.ts'
import type { Collection } from './collection.ts'

/** A passage of a result; `text` and `headings` are empty for systems that return files. */
export interface Found {
  readonly file: string
  readonly text: string
  readonly key: string
}

export type System = (question: string) => Promise<readonly Found[]>

const DEPTH = 50
const RRF_K = 60

/** Files by the number of words of the question that they contain, then by the number of their occurrences. */
export function byMatchedWords(collection: Collection): System {
  const files = [...collection].map(([file, text]) => ({ file, text: text.toLowerCase() }))
  return async question => {
    const terms = queryTerms(question)
    return files
      .map(({ file, text }) => {
        const counts = terms.map(term => text.split(term).length - 1)
        return { file, words: counts.filter(count => count > 0).length, all: counts.reduce((a, b) => a + b, 0) }
      })
      .filter(({ words }) => words > 0)
      .sort((a, b) => b.words - a.words || b.all - a.all || (a.file < b.file ? -1 : 1))
      .slice(0, DEPTH)
      .map(({ file }) => ({ file, text: '', key: file }))
  }
}

export function searchIn(service: SearchService, mode: 'full_text' | 'vector' | 'hybrid'): System {
  return async question => {
    const result = await service.query(
      { query: question, mode, corpora: ['document_chunks'], limit: DEPTH, verify: false },
      new AbortController().signal
    )
    if (!result.complete) throw new Error(`${question}: ${result.warnings.join(', ')}`)
    return result.hits.map(foundOf)
  }
}

/** Hybrid search with another `chunk_vector_weight`. */
export function weighted(service: SearchService, weight: number): System {
  return async question => {
    const { hits } = await service.query(
      { query: question, mode: 'hybrid', corpora: ['document_chunks'], limit: DEPTH, verify: false },
      new AbortController().signal
    )
    const score = ({ score, textScore, vectorScore }: SearchHit) =>
      textScore === null || vectorScore === null ? score : weight * vectorScore + (1 - weight) * textScore
    return hits.toSorted((a, b) => score(b) - score(a)).map(foundOf)
  }
}

/** Reciprocal rank fusion of the passages of systems. */
export function fused(...systems: readonly System[]): System {
  return async question => {
    const scores = new Map<string, { readonly found: Found; score: number }>()
    for (const system of systems)
      for (const [rank, found] of (await system(question)).entries()) {
        const entry = scores.get(found.key) ?? { found, score: 0 }
        entry.score += 1 / (RRF_K + rank + 1)
        scores.set(found.key, entry)
      }
    return [...scores.values()].sort((a, b) => b.score - a.score).map(({ found }) => found)
  }
}

function foundOf({ key, text, provenance }: SearchHit): Found {
  return { file: provenance.replace(/^repo:/, '').replace(/#page=\d+$/, ''), text, key }
}
