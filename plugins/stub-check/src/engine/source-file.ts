import type { StubFinding, StubSeverity } from '@svc/contracts'
import type { Rule } from '../rules/rule.ts'
import { TEST_PATH } from '../rules/rule.ts'
import type { Ancestry, FunctionFact, TreeNames } from './functions.ts'
import type { SourceLanguage } from './language.ts'
import { LineIndex } from './line-index.ts'
import type { SourceViews } from './source-views.ts'
import type { SyntaxTree } from './syntax-tree.ts'

/** Findings that one rule reports in a file; further ones would say the same. */
const MAX_PER_RULE = 50
/** Characters of a finding's line that are shown. */
const MAX_CONTEXT = 120
/** Password of an address. */
const PASSWORD = /(:\/\/[^\s:@/"'`]{0,200}:)[^\s@/"'`]{1,400}@/g

/** Syntax tree of a file with what is derived from it. */
export interface Syntax {
  readonly tree: SyntaxTree
  readonly names: TreeNames
  readonly ancestry: Ancestry
  /** Nodes of {@link SourceFile.functions}, in the same order. */
  readonly functionNodes: readonly number[]
}

/** A file in the eyes of the rules, which report into it. */
export class SourceFile {
  readonly path: string
  readonly text: string
  readonly language: SourceLanguage
  readonly views: SourceViews
  readonly lines: LineIndex
  /** Null for a language without a grammar. */
  readonly syntax: Syntax | null
  readonly functions: readonly FunctionFact[]
  readonly isTest: boolean
  readonly #found = new Map<string, StubFinding & { readonly offset: number }>()
  readonly #counts = new Map<string, number>()
  readonly #isEnabled: (rule: string) => boolean

  constructor(parts: {
    readonly path: string
    readonly language: SourceLanguage
    readonly views: SourceViews
    readonly syntax: Syntax | null
    readonly functions: readonly FunctionFact[]
    readonly isEnabled: (rule: string) => boolean
  }) {
    this.path = parts.path
    this.text = parts.views.text
    this.language = parts.language
    this.views = parts.views
    this.lines = new LineIndex(this.text)
    this.syntax = parts.syntax
    this.functions = parts.functions
    this.isTest = TEST_PATH.test(parts.path)
    this.#isEnabled = parts.isEnabled
  }

  /** True if the rule is wanted and applies to the file's language. */
  applies({ id, languages }: Rule): boolean {
    return (languages === undefined || languages.includes(this.language.id)) && this.#isEnabled(id)
  }

  /** Reports a finding at an offset; a rule reports a line once. */
  report(rule: Rule, offset: number, message: string, severity: StubSeverity = rule.severity): void {
    const counted = this.#counts.get(rule.id) ?? 0
    if (counted >= MAX_PER_RULE) return
    const line = this.lines.lineAt(offset)
    const key = `${rule.id} ${line}`
    if (this.#found.has(key)) return
    this.#counts.set(rule.id, counted + 1)
    const context = this.lines.line(line).trim().replace(PASSWORD, '$1…@').slice(0, MAX_CONTEXT)
    this.#found.set(key, {
      ruleId: rule.id,
      ruleName: rule.name,
      severity,
      file: this.path,
      line,
      column: offset - this.lines.startOf(line) + 1,
      message,
      ...(rule.suggestion === undefined ? {} : { suggestion: rule.suggestion }),
      context: rule.id.startsWith('security/') ? masked(context) : context,
      offset
    })
  }

  /** Findings in the order of the text. */
  findings(): readonly StubFinding[] {
    return [...this.#found.values()]
      .sort((one, other) => one.offset - other.offset)
      .map(({ offset: _offset, ...finding }) => finding)
  }
}

/** Replaces all but the first two characters of words that may be a secret. */
function masked(context: string): string {
  return context.replace(/[\w+/=.-]{8,}/g, word =>
    /\d/.test(word) || word.length > 24 ? `${word.slice(0, 2)}…` : word
  )
}
