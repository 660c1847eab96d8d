import type { StubFinding } from '@svc/contracts'
import { lex } from '../lex/lex.ts'
import { runBodyRules } from '../rules/body-rules.ts'
import { CODE_RULES } from '../rules/code-rules.ts'
import { runFileRules } from '../rules/file-rules.ts'
import { runTextRules } from '../rules/text-engine.ts'
import { runTreeRules } from '../rules/tree-rules.ts'
import { ancestryOf, functionsOf, literalRanges, TreeNames } from './functions.ts'
import type { Grammars } from './grammars.ts'
import { type SourceLanguage, sourceLanguage } from './language.ts'
import { lexicalFunctions } from './lexical-functions.ts'
import { SourceFile } from './source-file.ts'
import { SourceViews } from './source-views.ts'
import { applyInline, coversRule } from './suppression.ts'
import { windowsOf } from './windows.ts'
import { type Wiring, wiringOf } from './wiring.ts'

export interface ScanOptions {
  /** Ids or prefixes of the wanted rules; null: all. */
  readonly rules: readonly string[] | null
  /** Ids or prefixes of rules that are not wanted. */
  readonly withoutRules: readonly string[]
  /** Whether an inline suppression must give a reason. */
  readonly requiresRationale: boolean
  /** Whether the results for rules about several files are wanted. */
  readonly project: boolean
  /** Time limit of the parser per file in milliseconds. */
  readonly parseMs: number
}

export interface FileScan {
  readonly path: string
  /** `timed_out`: the parser reached its limit; only rules without a syntax tree were applied. */
  readonly state: 'scanned' | 'skipped' | 'timed_out'
  readonly findings: readonly StubFinding[]
  readonly suppressed: readonly StubFinding[]
  /** True if the parser had to skip a part of the file. */
  readonly hasParseError: boolean
  readonly windows: Float64Array
  readonly wiring: Wiring
}

/** Nodes of one file: about 4 MB of code. */
const MAX_NODES = 1_500_000
const NO_WIRING: Wiring = { mentions: [], isEntry: true }

const treeNames = new Map<string, TreeNames>()

/** Scans one text. Never throws for any text. `path` decides the language. */
export async function scanFile(
  grammars: Grammars,
  path: string,
  text: string,
  options: ScanOptions
): Promise<FileScan> {
  const language = sourceLanguage(path)
  if (language === null) return emptyScan(path, 'skipped')
  const isEnabled = (rule: string): boolean =>
    (options.rules?.some(each => coversRule(each, rule)) ?? true) &&
    !options.withoutRules.some(each => coversRule(each, rule))
  const { file, state, hasParseError } = await parsed(grammars, path, text, language, isEnabled, options.parseMs)
  runTextRules(file)
  runBodyRules(file)
  runTreeRules(file)
  runFileRules(file)
  const { kept, suppressed } = applyInline(file, file.findings(), options.requiresRationale)
  return {
    path,
    state,
    findings: kept,
    suppressed,
    hasParseError,
    windows:
      options.project && isEnabled(CODE_RULES.duplicate.id) && !file.isTest ? windowsOf(file) : new Float64Array(),
    wiring: options.project && isEnabled(CODE_RULES.unwired.id) ? wiringOf(file) : NO_WIRING
  }
}

export function emptyScan(path: string, state: FileScan['state']): FileScan {
  return {
    path,
    state,
    findings: [],
    suppressed: [],
    hasParseError: false,
    windows: new Float64Array(),
    wiring: NO_WIRING
  }
}

async function parsed(
  grammars: Grammars,
  path: string,
  text: string,
  language: SourceLanguage,
  isEnabled: (rule: string) => boolean,
  parseMs: number
): Promise<{ file: SourceFile; state: 'scanned' | 'timed_out'; hasParseError: boolean }> {
  const { grammar } = language
  if (grammar !== null) {
    const types = await grammars.load(grammar)
    const tree = grammars.parse(grammar, text, parseMs, MAX_NODES)
    if (tree !== null) {
      let names = treeNames.get(grammar)
      if (names === undefined) treeNames.set(grammar, (names = new TreeNames(types)))
      const { comments, strings } = literalRanges(tree, names)
      const ancestry = ancestryOf(tree, names, text)
      const found = functionsOf(tree, names, ancestry, text, language.id === 'python', language.id === 'rust')
      const views = new SourceViews(text, comments, strings)
      const syntax = { tree, names, ancestry, functionNodes: found.map(({ node }) => node) }
      const functions = found.map(({ fact }) => fact)
      const file = new SourceFile({ path, language, views, syntax, functions, isEnabled })
      return { file, state: 'scanned', hasParseError: tree.hasError }
    }
  }
  const { comments, strings } = lex(text, language.lexical)
  const views = new SourceViews(text, comments, strings)
  const functions = lexicalFunctions(views, language.lexical)
  const file = new SourceFile({ path, language, views, syntax: null, functions, isEnabled })
  return { file, state: grammar === null ? 'scanned' : 'timed_out', hasParseError: false }
}
