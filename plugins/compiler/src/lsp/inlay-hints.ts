import { type InlayHint, InlayHintKind, type Range } from 'vscode-languageserver'
import type { FunctionDeclaration, Param } from '../syntax/ast.ts'
import type { Argument, Binary, Call, Expression, Lambda } from '../syntax/ast-expressions.ts'
import type { Let } from '../syntax/ast-statements.ts'
import { bare } from '../syntax/entries.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'
import { show } from '../types/show.ts'
import type { Analysis } from './analysis.ts'
import { typeOf } from './hover.ts'
import { knownType } from './known-types.ts'
import { callableAt, parameterNamesOf } from './signature-help.ts'

/** Maximum length of a shown type, in characters. */
const MAX_TYPE = 60

/** Returns the types that a program does not write, and the parameters of literal arguments. */
export function inlayHints(analysis: Analysis, range: Range): InlayHint[] {
  const [from, until] = [analysis.document.offsetAt(range.start), analysis.document.offsetAt(range.end)]
  const found: [offset: number, hint: Omit<InlayHint, 'position'>][] = []
  const type = (offset: number, text: string | null, prefix = ': '): void => {
    if (text === null || text.length > MAX_TYPE || /\b(any|never|_)\b|…/.test(text)) return
    found.push([offset, { label: `${prefix}${text}`, kind: InlayHintKind.Type }])
  }
  const piped = new Set<AnyNode>()
  walk(analysis.parsed.module, node => {
    if (node.end < from || node.start > until) return false
    switch (node.kind) {
      case 'Binary':
        if ((node as Binary).operator === '|>') piped.add((node as Binary).right)
        break
      case 'Let':
        ofLet(node as Let, analysis, type)
        break
      case 'Lambda':
        ofParams((node as Lambda).params, analysis, type)
        break
      case 'Function':
        ofFunction(node as FunctionDeclaration, analysis, type)
        break
      case 'Call':
        for (const [offset, name] of parameterNames(node as Call, piped.has(node), analysis)) {
          found.push([offset, { label: `${name}:`, kind: InlayHintKind.Parameter, paddingRight: true }])
        }
    }
    return true
  })
  return found
    .filter(([offset]) => from <= offset && offset <= until)
    .sort(([a], [b]) => a - b)
    .map(([offset, hint]) => ({ position: analysis.document.positionAt(offset), ...hint }))
}

type AddType = (offset: number, text: string | null, prefix?: string) => void

/** Values whose type is in sight. */
const PLAIN: ReadonlySet<Expression['kind']> = new Set([
  'Int',
  'Float',
  'Decimal',
  'String',
  'Bool',
  'Struct',
  'Lambda'
])

function ofLet({ pattern, type, value }: Let, analysis: Analysis, add: AddType): void {
  if (type !== null || pattern.kind !== 'BindingPattern' || PLAIN.has(bare(value).kind)) return
  add(pattern.end, knownType(value, analysis)?.text ?? null)
}

function ofParams(params: readonly Param[], analysis: Analysis, add: AddType): void {
  for (const { name, type, value } of params) {
    const symbol = type === null && value === null ? analysis.symbols.at(name.start)?.symbol : undefined
    if (symbol !== undefined) add(name.end, typeOf(symbol, analysis))
  }
}

function ofFunction(declaration: FunctionDeclaration, analysis: Analysis, add: AddType): void {
  const { params, result, body } = declaration
  ofParams(params, analysis, add)
  if (result !== null || body === null) return
  const text = show(analysis.types.resultOf(declaration))
  if (text !== 'Unit') add(body.start, `${text} `, 'to ')
}

/** Literals, which do not say what they are for. */
const LITERALS: ReadonlySet<Expression['kind']> = new Set([
  'Int',
  'Float',
  'Decimal',
  'String',
  'Bool',
  'Unary',
  'Unit'
])

/** Returns the parameters of literal arguments, with the offsets of the arguments. */
function parameterNames(
  { callee, args }: Call,
  isPiped: boolean,
  analysis: Analysis
): [offset: number, name: string][] {
  if (!args.some(isLiteral)) return []
  const start = callee.kind === 'Member' ? callee.property.start : callee.start
  const callable = callableAt(start, analysis)
  if (callable === null || callable.isVariadic) return []
  const names = parameterNamesOf(callable.label)
  if (names.length < 2) return []
  return args.flatMap((argument, index): [number, string][] => {
    const name = names[isPiped ? index + 1 : index]
    // A field without a name is called `_0`.
    return isLiteral(argument) && name !== undefined && !/^(?:_\d|$)/.test(name) ? [[argument.start, name]] : []
  })
}

function isLiteral({ name, value }: Argument): boolean {
  return name === null && LITERALS.has(bare(value).kind)
}
