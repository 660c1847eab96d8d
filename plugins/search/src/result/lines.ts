import type { SearchCorpus } from '@svc/contracts'

const SNIPPET_CHARS = 240

export interface LineHit {
  readonly key: string
  readonly title: string
  readonly text: string
  readonly line: number | null
  readonly score: number
  readonly provenance: string
}

/** Returns the printable line of a hit in the grammar of its corpus. */
export function hitLine(corpus: SearchCorpus, hit: LineHit): string {
  const { title, text, line, score, provenance } = hit
  const key = lineName(hit.key)
  switch (corpus) {
    case 'memory':
      return `[${key}] ${snippet(text)} (score ${score.toFixed(3)}; provenance ${oneLine(provenance)}; contradiction none)`
    case 'knowledge_graph':
      return `[node:${key}] ${oneLine(title)} — ${snippet(text)}`
    case 'document_chunks':
      return `[chunk:${key} title:${lineName(title)}] ${snippet(text)}`
    case 'repo_inventory':
      return `[repo:${key}] ${oneLine(hit.key)}`
    case 'web_research':
      return `[web:${key}] ${snippet(text)}`
    case 'symbol_proximity':
      return `[symbol:${key}${line === null ? '' : `:${line}`}] ${snippet(text)}`
  }
}

/** Line of an external text index: `[tantivy:path score:x] text`, `[qdrant:id score:x] text`. */
export function scoredLine(source: 'tantivy' | 'qdrant', key: string, score: number, text: string): string {
  return `[${source}:${lineName(key)} score:${score.toFixed(3)}] ${snippet(text)}`
}

/** Marks the line of a memory that contradicts another hit. */
export function contradicts(line: string, key: string): string {
  return line.replace(/contradiction none\)$/, () => `contradiction ${lineName(key)})`)
}

/** A name between the brackets of a line has no bracket, and no line break. */
function lineName(text: string): string {
  return oneLine(text).replaceAll('[', '(').replaceAll(']', ')')
}

function snippet(text: string): string {
  const line = oneLine(text.slice(0, 4 * SNIPPET_CHARS))
  return line.length <= SNIPPET_CHARS ? line : `${line.slice(0, SNIPPET_CHARS - 1)}…`
}

/** Control characters of a text could change a terminal. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
}
