import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { inProject, type QgateContext } from '@svc/contracts'
import type { Retrieved } from './retrieved.ts'

/** Matches a citation: `[path/to/file.ts]`, optionally with a line. */
const CITATION = /\[([\w@./-]*[\w-]\.[A-Za-z0-9]{1,8})(?::\d+(?:-\d+)?)?\]/g
const QUESTION = /\?\s*$|^\s*(?:what|where|which|who|whose|when|why|how|does|do|did|is|are|was|were|can|has|have)\b/i

/** Maximum cited files that are looked for in the project. */
const MAX_CHECKED = 200

export interface Citations {
  /** Files that an answer cites. */
  readonly cited: readonly string[]
  /** Cited files that were in the prompt. */
  readonly shown: readonly string[]
  /** Cited files that do not exist in the project. */
  readonly fabricated: readonly string[]
}

/** Compares the files that an answer cites with those in the prompt and those in the project. */
export async function citationsOf(answer: string, shown: ReadonlySet<string>, projectRoot: string): Promise<Citations> {
  const cited = [...new Set([...answer.matchAll(CITATION)].map(([, path = '']) => path.replace(/^\.\//, '')))]
  const others = cited.filter(path => !shown.has(path)).slice(0, MAX_CHECKED)
  const exist = await Promise.all(others.map(path => isProjectFile(projectRoot, path)))
  return { cited, shown: cited.filter(path => shown.has(path)), fabricated: others.filter((_, at) => !exist[at]) }
}

async function isProjectFile(projectRoot: string, path: string): Promise<boolean> {
  const file = resolve(projectRoot, path)
  if (inProject(projectRoot, file) === null) return false
  return stat(file).then(
    found => found.isFile(),
    () => false
  )
}

/** Returns whether a prompt asks for facts, which then need a source. */
function asksForFacts(prompt: string): boolean {
  return QUESTION.test(prompt)
}

export interface ChatEvidenceInput {
  readonly prompt: string
  readonly retrieved: Retrieved
  /** Number of texts from the caller. */
  readonly fromCaller: number
  readonly citations: Citations
  readonly fatigued: boolean
}

/**
 * Returns the evidence for the quality gate of a chat. A request for facts requires one piece of evidence. The citation
 * coverage is the share of cited files that were in the prompt; if the answer has no citations, the share of the
 * question's words that were found. If nothing was found, it is 1 with texts from the caller, otherwise 0. The quality is
 * that of the search, or 1 for texts from the caller.
 */
export function chatEvidence({ prompt, retrieved, fromCaller, citations, fatigued }: ChatEvidenceInput): QgateContext {
  const { found, tier, termCoverage, quality } = retrieved
  const { cited, shown, fabricated } = citations
  const evidence = found.length + fromCaller
  const sources = new Set(found.map(({ ref }) => ref)).size + fromCaller
  const isFactual = asksForFacts(prompt)
  return {
    required_citations: isFactual ? 1 : 0,
    evidence_count: evidence,
    citation_coverage:
      cited.length > 0 ? shown.length / cited.length : found.length > 0 ? termCoverage : fromCaller > 0 ? 1 : 0,
    contradiction_hints: 0,
    source_diversity: sources,
    evidence_quality: fromCaller > 0 ? 1 : quality,
    verification_performed: cited.length > 0 && fabricated.length === 0,
    factual_mode: isFactual,
    evidence_shape: evidence === 0 ? 'empty' : sources > 1 ? 'broad' : 'narrow',
    fatigued,
    fabricated_receipts: fabricated.length > 0,
    ...(tier === 'none' ? {} : { retrieval_tier: tier })
  }
}
