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
  for (const rule of TEXT_RULES) {
    if (rule.needs !== undefined && !rule.needs.some(need => lower.includes(need))) continue
    if (!file.applies(rule) || rule.skipPaths?.test(file.path) === true) continue
    runRule(rule, file)
  }
}

function runRule(rule: TextRule, file: SourceFile): void {
  const { views } = file
  switch (rule.in) {
    case 'comment': {
      if (!hasMatch(rule, views.commentText)) return
      for (const { text, offset } of views.commentLines)
        for (const at of matches(rule, text)) {
          // A quoted part was removed before the match, so only the start of the line is exact.
          report(rule, file, offset + Math.min(at, text.length - text.trimStart().length))
          break
        }
      return
    }
    case 'string':
      for (const { start, end } of views.strings) {
        if (end - start < 8) continue
        for (const at of matches(rule, contentOf(file.text.slice(start, end)))) report(rule, file, start + at)
      }
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

/** Replaces the quotes of a literal by spaces, so that offsets stay. */
function contentOf(literal: string): string {
  const [open = ''] = /^[a-z]{0,2}#{0,8}(?:"""|'''|"|'|`)/i.exec(literal) ?? []
  if (open === '') return literal
  const close = /(?:"""|'''|"|'|`)#{0,8}$/.exec(literal.slice(open.length))?.[0].length ?? 0
  return ' '.repeat(open.length) + literal.slice(open.length, literal.length - close)
}

function hasMatch({ pattern }: TextRule, text: string): boolean {
  return typeof pattern === 'string' ? text.includes(pattern) : text.search(pattern) >= 0
}

function* matches({ pattern }: TextRule, text: string): Iterable<number> {
  if (typeof pattern === 'string') {
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + pattern.length)) yield at
    return
  }
  for (const match of text.matchAll(pattern)) yield match.index
}

function report(rule: TextRule, file: SourceFile, offset: number): void {
  if (rule.skip !== undefined) {
    const line = file.lines.line(file.lines.lineAt(offset))
    if (rule.skip.some(skip => skip.test(line))) return
  }
  file.report(rule, offset, rule.message)
}
