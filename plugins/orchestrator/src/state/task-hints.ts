import type { BenchmarkTier, TaskCategory } from '@svc/contracts'

/** Markers in a description. */
export interface InlineHints {
  readonly tools: readonly string[]
  readonly research: readonly string[]
  readonly category: TaskCategory | undefined
}

const MARKER = /\[\[(tool|research|category):([^[\]\n]{1,256})\]\]/g

const CATEGORIES: Readonly<Record<string, TaskCategory>> = { visus: 'Visus', research: 'Research', codegen: 'CodeGen' }

/** Reads `[[tool:NAME]]`, `[[research:TOPIC]]` and `[[category:visus|research|codegen]]`; null if there are none. */
export function inlineHints(description: string): InlineHints | null {
  if (!description.includes('[[')) return null
  const tools: string[] = []
  const research: string[] = []
  let category: TaskCategory | undefined
  for (const [, kind, text = ''] of description.matchAll(MARKER)) {
    const value = text.trim()
    if (value === '') continue
    if (kind === 'tool') tools.push(value)
    else if (kind === 'research') research.push(value)
    else category ??= CATEGORIES[value.toLowerCase()]
  }
  return tools.length === 0 && research.length === 0 && category === undefined ? null : { tools, research, category }
}

const TIERS: ReadonlySet<string> = new Set(['issue_repair', 'subsystem_regen', 'crate_regen', 'repo_regen'])

/** Reads the tokens `campaign:X` and `tier:Y` of a description. */
export function campaignTokens(description: string): {
  readonly campaign: string | undefined
  readonly tier: BenchmarkTier | undefined
} {
  return { campaign: tokenAfter(description, 'campaign:'), tier: asTier(tokenAfter(description, 'tier:')) }
}

function asTier(word: string | undefined): BenchmarkTier | undefined {
  const folded = word?.toLowerCase()
  return folded !== undefined && TIERS.has(folded) ? (folded as BenchmarkTier) : undefined
}

/** Returns the rest of the first word that begins with `key`. */
function tokenAfter(text: string, key: string): string | undefined {
  for (let at = text.indexOf(key); at !== -1; at = text.indexOf(key, at + key.length)) {
    if (at > 0 && !isSpace(text.charCodeAt(at - 1))) continue
    let end = at + key.length
    while (end < text.length && !isSpace(text.charCodeAt(end))) end++
    if (end > at + key.length && end - at <= 256) return text.slice(at + key.length, end)
  }
  return undefined
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}
