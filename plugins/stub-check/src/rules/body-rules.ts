import type { FunctionFact } from '../engine/functions.ts'
import type { SourceFile } from '../engine/source-file.ts'
import { CODE_RULES as R } from './code-rules.ts'

/** Texts that a placeholder returns. */
const PLACEHOLDER_TEXT =
  /^(?:return\s+)?(?:Ok\(|Some\()?(?:String::from\()?f?(["'`])[^"'`\n]{0,80}\b(?:placeholder|todo|tbd|dummy|not (?:yet )?implemented|lorem ipsum|stub(?:bed)?|coming soon|fake|sample data)\b[^"'`\n]{0,80}\1(?:\.(?:to_string|into|to_owned)\(\))?\)*\s*;?$/i
const BARE_RETURN = /^return(?:\s+(?:None|null|undefined|nil))?\s*;?$/
const ASSERTION = /^(?:assert\b|(?:debug_)?assert(?:_eq|_ne)?!|console\.assert\(|assert(?:\.\w+)?\()/
const PRINT =
  /^(?:await\s+)?(?:console\.(?:log|info|debug|warn|error)|print|e?println!|dbg!|log(?:ger|ging)?\.\w+|this\.log(?:ger)?\.\w+|self\.log(?:ger)?\.\w+|printerr|print_debug|push_error|push_warning|fmt\.Print\w*|(?:tracing|log)::\w+!)\s*\(/
/** Functions whose purpose is to print, or to do nothing. */
const SPEAKS =
  /(?:print|log|debug|warn|report|show|dump|usage|help|trace|notify|display|echo|hello|greet|main|banner|error|fail|noop|ignore|nothing)/i
const MOCK = /^_?(?:mock|fake|dummy|stub)(?:_|[A-Z])/
const DEFAULT_VALUES: Readonly<Record<string, RegExp>> = {
  rust: /^(?:return\s+)?(?:Ok\(|Some\()?(?:Default|[A-Z]\w*)::(?:default|new)\(\)\)?;?$/,
  typescript: /^return\s+(?:\{\s*\}|\[\s*\]|null|undefined)\s+as\s+(?:unknown\s+as\s+|any\s+as\s+)?[A-Z][\w<>[\], ]*;?$/
}
/** Methods that are empty by design: the language or a framework calls them. */
const EMPTY_BY_DESIGN = /^(?:constructor|__init_subclass__|noop|no_op|_noop|nop|ignore|doNothing|do_nothing|drop)$/i

/** Runs the rules that look at one function. */
export function runBodyRules(file: SourceFile): void {
  for (const fact of file.functions) {
    if (fact.isAbstract) continue
    emptiness(file, fact)
    if (file.applies(R.mockNamed) && !file.isTest && !fact.isTest && MOCK.test(fact.name))
      file.report(R.mockNamed, fact.at, `${fact.name} is named like a mock, and is not part of a test`)
    if (fact.count === 0) continue
    const [first = ''] = fact.statements
    unreachable(file, fact, first)
    if (fact.isExpression && fact.count === 1 && !fact.name) continue
    content(file, fact, first)
  }
}

function emptiness(file: SourceFile, fact: FunctionFact): void {
  const isPython = file.language.id === 'python'
  const isGodot = file.language.id === 'gdscript'
  if (isPython && file.path.endsWith('.pyi')) return
  const [first] = fact.statements
  if (isPython && fact.count > 0) {
    const last = fact.count === 1 ? first : undefined
    if (last !== undefined && /^raise\s+NotImplementedError\b/.test(last) && file.applies(R.notImplementedError)) {
      file.report(R.notImplementedError, bodyStart(file, fact), `${named(fact)} only raises NotImplementedError`)
      return
    }
    if (last === '...' && file.applies(R.ellipsisBody)) {
      file.report(R.ellipsisBody, bodyStart(file, fact), `the body of ${named(fact)} is an ellipsis`)
      return
    }
  }
  const isPass = (isPython || isGodot) && fact.count === 1 && first === 'pass'
  if (fact.count > 0 && !isPass) return
  if (fact.isExplained || fact.isExpression || EMPTY_BY_DESIGN.test(fact.name)) return
  if (/\b(?:override|@Override|@override)\b/.test(fact.header) && fact.isMethod) return
  if (file.isTest || fact.isTest || !file.applies(R.emptyBody)) return
  file.report(R.emptyBody, fact.at, `${named(fact)} has an empty body`)
}

function unreachable(file: SourceFile, fact: FunctionFact, first: string): void {
  if (!file.applies(R.earlyReturn) || fact.isTest || file.isTest || fact.isExpression) return
  const isBare = BARE_RETURN.test(first)
  const hasMore = fact.count > 1 && /^return\b[^\n]{0,120};?$/.test(first) && !/^return[^;\n]*[({[]\s*$/.test(first)
  if (
    hasMore &&
    !fact.statements
      .slice(1)
      .every(each => /^(?:function|class|def|async|interface|type|enum|var|fn|const fn|static)\b/.test(each))
  )
    file.report(R.earlyReturn, fact.at, `${named(fact)} returns in its first statement, and the rest never runs`)
  else if (isBare && fact.count === 1 && fact.parameters.length > 0 && !fact.isExplained && !fact.isMethod)
    file.report(R.earlyReturn, fact.at, `${named(fact)} only returns`)
}

function content(file: SourceFile, fact: FunctionFact, first: string): void {
  if (file.isTest || fact.isTest) return
  const { statements, count } = fact
  if (count === 1) {
    if (file.applies(R.placeholderReturn) && PLACEHOLDER_TEXT.test(first))
      file.report(R.placeholderReturn, bodyStart(file, fact), `${named(fact)} returns a placeholder`)
    const pattern = DEFAULT_VALUES[file.language.id]
    const isDefault =
      pattern !== undefined &&
      fact.parameters.length > 0 &&
      pattern.test(first) &&
      !/^(?:new|default|empty|with_|create|reset|make)/.test(fact.name)
    const isPython = file.language.id === 'python' && fact.parameters.length > 0 && isEmptyOfItsType(fact, first)
    if ((isDefault || isPython) && file.applies(R.customDefault))
      file.report(
        R.customDefault,
        bodyStart(file, fact),
        `${named(fact)} ignores its parameters and returns an empty value`
      )
  }
  if (count > statements.length) return
  if (
    file.applies(R.assertionOnly) &&
    statements.every(each => ASSERTION.test(each)) &&
    !/assert|check|valid|ensure|require|expect|verify|invariant/i.test(fact.name)
  )
    file.report(R.assertionOnly, fact.at, `${named(fact)} only asserts`)
  if (
    file.applies(R.hollow) &&
    !fact.isExpression &&
    statements.every(each => PRINT.test(each)) &&
    !SPEAKS.test(fact.name)
  )
    file.report(R.hollow, fact.at, `${named(fact)} only prints`)
}

/** True for `return Order()` in a function with `-> Order`, and for an empty list or mapping of such a function. */
function isEmptyOfItsType({ header, name }: FunctionFact, first: string): boolean {
  const type = /->\s*["']?([A-Z]\w*)["']?\s*:?\s*$/.exec(header)?.[1]
  return type !== undefined && first === `return ${type}()` && !/^(?:new|default|empty|create|make|build)/.test(name)
}

function named(fact: FunctionFact): string {
  return fact.name === '' ? 'the function' : fact.name
}

/** Offset of the body's first character that is not white space or a brace. */
function bodyStart(file: SourceFile, { body, count, statements }: FunctionFact): number {
  if (count === 0) return body.start
  const at = file.views.source.indexOf((statements[0] as string).slice(0, 40), body.start)
  return at < 0 ? body.start : at
}
