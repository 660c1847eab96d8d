import { readListedFile } from '@svc/contracts'
import { listProject } from '../project/listing.ts'
import type { Passage } from './passage.ts'
import { countTerms } from './terms.ts'

const CHUNK_CHARACTERS = 1_600
const FILE_BYTES = 262_144
const ALL_BYTES = 33_554_432
/** Maximum concurrent reads. */
const AT_ONCE = 16
/** Maximum results per file, so that one long file does not displace all others. */
const PER_FILE = 2
const K1 = 1.2
const B = 0.75
/** Assumed number of words of a chunk without matches, whose words are not counted. */
const USUAL_WORDS = CHUNK_CHARACTERS / 7

export interface RepositorySearch {
  readonly found: readonly Passage[]
  readonly filesRead: number
  readonly by: 'git' | 'walk'
  /** True if a limit prevented reading more files. */
  readonly truncated: boolean
  /** All listed paths. */
  readonly paths: ReadonlySet<string>
}

interface Chunk {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly counts: ReadonlyMap<string, number>
  readonly words: number
}

/**
 * Ranks chunks of about 1,600 characters from the project's files by Okapi BM25 with k1 = 1.2 and b = 0.75. Files are
 * read again for each search: an index would be stale during edits.
 */
export async function searchRepository(
  projectRoot: string,
  terms: readonly string[],
  limits: { readonly files: number; readonly results: number },
  signal: AbortSignal
): Promise<RepositorySearch> {
  const listing = await listProject(projectRoot, limits.files, signal)
  const paths = new Set(listing.paths)
  const wanted = new Set(terms)
  const chunks: Chunk[] = []
  let [filesRead, bytes, total] = [0, 0, 0]
  let truncated = listing.truncated
  const listed = terms.length === 0 ? [] : listing.paths
  for (let at = 0; at < listed.length; at += AT_ONCE) {
    signal.throwIfAborted()
    if (bytes >= ALL_BYTES) {
      truncated = true
      break
    }
    const batch = listed.slice(at, at + AT_ONCE)
    const texts = await Promise.all(batch.map(path => readListedFile(projectRoot, path, FILE_BYTES)))
    for (const [index, text] of texts.entries()) {
      const path = batch[index]
      if (text === null || path === undefined) continue
      filesRead += 1
      bytes += text.length
      total += Math.ceil(text.length / CHUNK_CHARACTERS)
      const inName = countTerms(path, wanted).counts
      const lower = text.toLowerCase()
      if (inName.size > 0 || terms.some(term => lower.includes(term)))
        chunks.push(...matching(path, text, wanted, inName))
    }
  }
  return {
    found: best(chunks, Math.max(total, chunks.length), terms, limits.results),
    filesRead,
    by: listing.by,
    truncated,
    paths
  }
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
    const lineEnd = text.indexOf('\n', Math.min(text.length, start + CHUNK_CHARACTERS))
    // Very long lines, as in generated files, are split.
    const end =
      lineEnd === -1 || lineEnd - start > 2 * CHUNK_CHARACTERS
        ? Math.min(text.length, start + 2 * CHUNK_CHARACTERS)
        : lineEnd + 1
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

function best(chunks: readonly Chunk[], total: number, terms: readonly string[], results: number): Passage[] {
  const words = chunks.reduce((sum, chunk) => sum + chunk.words, 0) + (total - chunks.length) * USUAL_WORDS
  const average = total === 0 ? 1 : Math.max(1, words / total)
  const weights = new Map(
    terms.map(term => {
      const having = chunks.filter(({ counts }) => counts.has(term)).length
      return [term, Math.log(1 + (total - having + 0.5) / (having + 0.5))]
    })
  )
  const scored = chunks
    .map(chunk => ({ chunk, score: bm25(chunk, weights, average) }))
    .sort((a, b) => b.score - a.score || (a.chunk.path < b.chunk.path ? -1 : 1))
  const perFile = new Map<string, number>()
  const found: Passage[] = []
  for (const { chunk, score } of scored) {
    const { path, line, text, counts } = chunk
    const before = perFile.get(path) ?? 0
    if (before === PER_FILE) continue
    if (found.length === results) break
    perFile.set(path, before + 1)
    found.push({ source: 'repository', ref: path, line, text, score, matched: [...counts.keys()] })
  }
  return found
}

function bm25({ counts, words }: Chunk, weights: ReadonlyMap<string, number>, average: number): number {
  let score = 0
  for (const [term, count] of counts) {
    score += ((weights.get(term) ?? 0) * count * (K1 + 1)) / (count + K1 * (1 - B + (B * words) / average))
  }
  return score
}
