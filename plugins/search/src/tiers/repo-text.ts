import { readListedFile, type SearchTier, type SearchTierHit } from '@svc/contracts'
import { countTerms } from '../plan/words.ts'
import { type Bm25, bm25 } from '../score/scores.ts'
import { listProject } from './listing.ts'

const CHUNK_CHARS = 1_600
const MAX_FILE_BYTES = 262_144
const MAX_TOTAL_BYTES = 33_554_432
/** Maximum concurrent reads. */
const CONCURRENCY = 16
/** Maximum results per file, so that one long file does not displace all others. */
const MAX_PER_FILE = 2
/** Characters that are searched before other work runs. */
const TURN_CHARS = 524_288
/** Assumed number of words of a chunk without matches, whose words are not counted. */
const USUAL_WORDS = CHUNK_CHARS / 7
/** BM25 score of certain evidence, which becomes the score 1. */
const STRONG_SCORE = 8

interface Chunk {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly counts: ReadonlyMap<string, number>
  readonly words: number
}

export interface RepoTextParts {
  readonly projectRoot: string
  /** Maximum files that one search reads; 0: none. */
  readonly maxFiles: () => number
  /** True if the index has files of the project, so that they need not be read. */
  readonly isIndexed: () => boolean
  readonly bm25: () => Bm25
}

/** Passages of the project's files, which are read again for each search, while the index has none of them. */
export function repoTextTier(parts: RepoTextParts): SearchTier {
  return {
    name: 'repo_text',
    corpus: 'document_chunks',
    unavailable: () =>
      parts.maxFiles() === 0 ? 'live_files is 0' : parts.isIndexed() ? 'the index has the files of the project' : null,
    async query({ terms, limit }, signal) {
      const files = parts.maxFiles()
      return (await searchFiles(parts.projectRoot, terms, { files, limit }, parts.bm25(), signal)).hits
    }
  }
}

export interface FileSearch {
  readonly hits: readonly SearchTierHit[]
  readonly filesRead: number
  readonly by: 'git' | 'walk'
  /** True if a limit prevented reading more files. */
  readonly truncated: boolean
}

/** Ranks chunks of about 1,600 characters of the project's files by BM25. */
export async function searchFiles(
  projectRoot: string,
  terms: readonly string[],
  limits: { readonly files: number; readonly limit: number },
  parameters: Bm25,
  signal: AbortSignal
): Promise<FileSearch> {
  const listing = await listProject(projectRoot, limits.files, signal)
  const wanted = new Set(terms)
  const chunks: Chunk[] = []
  let [filesRead, bytes, total, sinceTurn] = [0, 0, 0, 0]
  let truncated = listing.truncated
  const listed = terms.length === 0 ? [] : listing.paths
  for (let at = 0; at < listed.length; at += CONCURRENCY) {
    signal.throwIfAborted()
    if (bytes >= MAX_TOTAL_BYTES) {
      truncated = true
      break
    }
    const batch = listed.slice(at, at + CONCURRENCY)
    const texts = await Promise.all(batch.map(path => readListedFile(projectRoot, path, MAX_FILE_BYTES)))
    for (const [index, text] of texts.entries()) {
      const path = batch[index]
      if (text === null || path === undefined) continue
      filesRead += 1
      bytes += text.length
      sinceTurn += text.length
      if (sinceTurn > TURN_CHARS) {
        await new Promise(resolve => setImmediate(resolve))
        sinceTurn = 0
      }
      total += Math.ceil(text.length / CHUNK_CHARS)
      const inName = countTerms(path, wanted).counts
      const lower = text.toLowerCase()
      if (inName.size > 0 || terms.some(term => lower.includes(term)))
        chunks.push(...matching(path, text, wanted, inName))
    }
  }
  const hits = best(chunks, Math.max(total, chunks.length), terms, limits.limit, parameters)
  return { hits, filesRead, by: listing.by, truncated }
}

/** Returns the chunks that contain a term. A term in a file's name counts for the file's first chunk. */
function matching(
  path: string,
  text: string,
  terms: ReadonlySet<string>,
  inName: ReadonlyMap<string, number>
): Chunk[] {
  const chunks: Chunk[] = []
  let line = 1
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', Math.min(text.length, start + CHUNK_CHARS))
    // Very long lines, as in generated files, are split.
    const end =
      lineEnd === -1 || lineEnd - start > 2 * CHUNK_CHARS ? Math.min(text.length, start + 2 * CHUNK_CHARS) : lineEnd + 1
    const part = text.slice(start, end)
    const { counts, words } = countTerms(part, terms)
    const all = start === 0 ? merged(counts, inName) : counts
    if (all.size > 0) chunks.push({ path, line, text: part, counts: all, words })
    line += part.split('\n').length - 1
    start = end
  }
  return chunks
}

function merged(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const all = new Map(a)
  for (const [term, count] of b) all.set(term, (all.get(term) ?? 0) + count)
  return all
}

function best(
  chunks: readonly Chunk[],
  total: number,
  terms: readonly string[],
  limit: number,
  parameters: Bm25
): SearchTierHit[] {
  const words = chunks.reduce((sum, chunk) => sum + chunk.words, 0) + (total - chunks.length) * USUAL_WORDS
  const having = new Map(terms.map(term => [term, chunks.filter(({ counts }) => counts.has(term)).length]))
  const corpus = { texts: total, meanWords: total === 0 ? 1 : words / total, having }
  const scored = chunks
    .map(chunk => ({ chunk, score: bm25(chunk.counts, chunk.words, corpus, parameters) }))
    .sort((a, b) => b.score - a.score || (a.chunk.path < b.chunk.path ? -1 : 1))
  const perFile = new Map<string, number>()
  const found: SearchTierHit[] = []
  for (const { chunk, score } of scored) {
    const { path, line, text, counts } = chunk
    const before = perFile.get(path) ?? 0
    if (before === MAX_PER_FILE) continue
    if (found.length === limit) break
    perFile.set(path, before + 1)
    found.push({
      key: `${path}:${line}`,
      title: path,
      text,
      line,
      score: Math.min(1, score / STRONG_SCORE),
      provenance: path,
      factors: [`bm25 ${score.toFixed(3)} / ${STRONG_SCORE}, at most 1`, `words ${[...counts.keys()].join(', ')}`]
    })
  }
  return found
}
