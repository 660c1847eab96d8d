import type { Diagnostic } from '#diagnostics'
import { checkFile, SourceFile } from '#root'
import { PRELUDE } from './prelude.ts'

const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }

/** Checks a program that follows the prelude. */
export function findings(source: string): readonly Diagnostic[] {
  return checkFile(new SourceFile('program.vox', PRELUDE + source), options).diagnostics
}

/** The 1-based line of a finding in the program, without the prelude. */
export function lineOf({ span }: Diagnostic, source: string): number {
  return source.slice(0, Math.max(0, span.start - PRELUDE.length)).split('\n').length
}

export interface Expected {
  readonly line: number
  readonly severities: readonly string[]
  readonly codes: readonly string[]
}

/** Reads the comment that marks the mistake: `// E arity`, `// W|E undefined`, `// @2 E code` with a line. */
export function expectedIn(source: string): Expected {
  const lines = source.split('\n')
  const index = lines.findIndex(line => line.includes(' // '))
  const mark = /\/\/ (?:@(\d+) )?([EW|]+) (\S+)$/.exec(lines[index] ?? '')
  if (mark === null) throw new Error(`no mistake is marked in: ${source}`)
  const codes = (mark[3] as string)
    .split('|')
    .map(code => (/^(E\d|lint\.|vox\/)/.test(code) ? code : `typecheck.${code}`))
  return { line: Number(mark[1] ?? index + 1), severities: (mark[2] as string).split('|'), codes }
}

export function severityLetter({ severity }: Diagnostic): string {
  return severity === 'error' ? 'E' : 'W'
}

/** A finding in one line, for messages of tests. */
export function summary(finding: Diagnostic, source: string): string {
  return `line ${lineOf(finding, source)}: ${severityLetter(finding)} ${finding.code}: ${finding.message}`
}
