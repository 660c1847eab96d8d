import type { FileAffinity, RiskBand, TestDecision } from '@svc/contracts'

export interface TestFacts {
  readonly description: string
  readonly files: readonly FileAffinity[]
  /** 1 to 10. */
  readonly complexity: number
  /** Confidence in the evidence; absent without evidence. */
  readonly band?: RiskBand
  /** Share of the required evidence that is missing, [0, 1]. */
  readonly evidenceGap?: number
}

export interface TestVerdict {
  readonly decision: TestDecision
  readonly rationale: string
}

/** Security terms. `auth` matches within any word (OAuth, unauthorized), except for words about authorship. */
const SENSITIVE = /security|auth(?!or(?:s|ed|ing|ship)?\b)|crypto|permission/i
const DOCUMENTS = /\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt|tex)$|(?:^|\/)(?:licen[cs]e|notice|authors|changelog)$/i
const SOURCES =
  /\.(?:vox|rs|[cm]?[jt]sx?|py|pyi|go|java|kts?|swift|c|cc|cpp|cxx|h|hh|hpp|cs|rb|php|scala|clj|ex|exs|erl|hs|ml|lua|sh|bash|zsh|ps1|sql|vue|svelte|zig|dart|r|jl|pl|pm)$/i

/** Decides whether a task must include tests. Tasks that only write documents need none, unless security is mentioned. */
export function testDecision(facts: TestFacts): TestVerdict {
  const { files, complexity } = facts
  const word = SENSITIVE.exec(facts.description)
  if (word !== null) return verdict('Required', `the description mentions ${word[0].toLowerCase()}`)
  const written = files.filter(file => file.access === 'write')
  if (written.length > 0 && written.every(file => DOCUMENTS.test(file.path)))
    return verdict('Skip', 'the task writes only documents')
  const source = written.find(file => SOURCES.test(file.path))
  if (source !== undefined) return verdict('Required', `the task writes source code: ${source.path}`)
  if (facts.band === 'Low') return verdict('Required', 'the evidence for the task is weak')
  if (complexity >= 7) return verdict('Required', `the complexity is ${complexity}, which is 7 or more`)
  if (files.length >= 2) return verdict('Required', `the task has ${files.length} files`)
  const gap = facts.evidenceGap ?? 0
  if (gap > 0.4) return verdict('Deferred', `${Math.round(gap * 100)} % of the required evidence is missing`)
  return verdict('Optional', 'nothing in the task requires tests')
}

function verdict(decision: TestDecision, rationale: string): TestVerdict {
  return { decision, rationale }
}
