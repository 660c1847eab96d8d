import type { SourceFile } from '../engine/source-file.ts'
import { HAZARD_RULES } from './hazard-rules.ts'
import type { TextRule } from './rule.ts'
import { LITERAL_RULES } from './security-rules.ts'
import { STUB_RULES } from './stub-rules.ts'

/** Rules as data, in the order in which they run. */
export const TEXT_RULES: readonly TextRule[] = [...STUB_RULES, ...LITERAL_RULES, ...HAZARD_RULES]

/** Runs all text rules that apply to the file. */
export function runTextRules(file: SourceFile): void {
  const lower = file.text.toLowerCase()
  /** Whether the text has a word that rules need; several rules need the same. */
  const has = new Map<string, boolean>()
  const hasWord = (word: string): boolean => {
    let found = has.get(word)
    if (found === undefined) has.set(word, (found = lower.includes(word)))
    return found
  }
  for (const rule of TEXT_RULES) {
    if (!file.applies(rule) || rule.needs?.some(hasWord) === false) continue
    if (rule.skipPaths?.test(file.path) !== true) runRule(rule, file)
  }
}

function runRule(rule: TextRule, file: SourceFile): void {
  const { views } = file
  switch (rule.in) {
    case 'comment': {
      if (views.commentText.search(rule.pattern) < 0) return
      for (const { text, offset } of views.commentLines) {
        const at = text.search(rule.pattern)
        // A quoted part was removed before the match, so only the start of the line is exact.
        if (at >= 0) report(rule, file, offset + Math.min(at, text.length - text.trimStart().length))
      }
      return
    }
    case 'string':
      for (const { text, offset } of views.stringContents)
        for (const at of matches(rule, text)) report(rule, file, offset + at)
      return
    case 'source':
      for (const at of matches(rule, views.source)) if (!views.inString(at)) report(rule, file, at)
      return
    case 'code':
      for (const at of matches(rule, views.code)) report(rule, file, at)
      return
    case 'text':
      for (const at of matches(rule, file.text)) report(rule, file, at)
  }
}

const NONE: readonly number[] = []

/** Returns the offsets of the matches. `matchAll` would copy the expression for each text, which takes longer than most searches. */
function matches({ pattern }: TextRule, text: string): readonly number[] {
  const first = text.search(pattern)
  if (first < 0) return NONE
  pattern.lastIndex = first
  const found: number[] = []
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    found.push(match.index)
    if (match[0] === '') pattern.lastIndex += 1
  }
  return found
}

function report(rule: TextRule, file: SourceFile, offset: number): void {
  if (rule.skip !== undefined) {
    const line = file.lines.line(file.lines.lineAt(offset))
    if (rule.skip.some(skip => skip.test(line))) return
  }
  file.report(rule, offset, rule.message)
}
