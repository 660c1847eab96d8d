import type { SearchCorpus, SearchPlan } from '@svc/contracts'
import { wordsOf } from './words.ts'

const NAVIGATION_WORDS = new Set(
  ['file', 'path', 'module', 'symbol', 'crate', 'function', 'struct', 'enum', 'trait', 'defined'].flatMap(word => [
    word,
    `${word}s`
  ])
)
const NAVIGATION_MARKS = ['.rs', 'src/', 'crates/', '::']
/** A file of source code by its ending, such as `plugin.ts`. */
const SOURCE_FILE = /[\w-]\.(?:[cm]?[jt]sx?|py|go|java|kt|c|h|cc|cpp|cs|rb|php|swift|vox)\b/
const STRUCTURE_WORDS = new Set(['architecture', 'repository', 'repo', 'overview', 'structure', 'where', 'how'])
/** A query with more words is research. */
const FACTUAL_WORDS = 8

const NAVIGATION: readonly SearchCorpus[] = [
  'symbol_proximity',
  'repo_inventory',
  'document_chunks',
  'knowledge_graph',
  'memory'
]
/** A question about the project is not sent to the web. */
const STRUCTURE: readonly SearchCorpus[] = ['repo_inventory', 'document_chunks', 'knowledge_graph', 'memory']
const GENERAL: readonly SearchCorpus[] = [
  'memory',
  'knowledge_graph',
  'document_chunks',
  'repo_inventory',
  'web_research'
]

/** Chooses intent, mode and corpora by the words of a query. */
export function planSearch(query: string): SearchPlan {
  const folded = query.toLowerCase()
  const words = wordsOf(folded)
  const navigation =
    words.find(word => NAVIGATION_WORDS.has(word)) ??
    NAVIGATION_MARKS.find(mark => folded.includes(mark)) ??
    SOURCE_FILE.exec(folded)?.[0]
  if (navigation !== undefined)
    return {
      intent: 'code_navigation',
      mode: 'full_text',
      corpora: NAVIGATION,
      because: `"${navigation}" is a word of code navigation`
    }
  const structure = words.find(word => STRUCTURE_WORDS.has(word))
  if (structure !== undefined)
    return {
      intent: 'repo_structure',
      mode: 'hybrid',
      corpora: STRUCTURE,
      because: `"${structure}" is a word of structure`
    }
  const isLong = words.length > FACTUAL_WORDS
  return {
    intent: isLong ? 'broad_research' : 'factual_lookup',
    mode: 'hybrid',
    corpora: GENERAL,
    because: `no word of code navigation or structure, and ${words.length} words`
  }
}
