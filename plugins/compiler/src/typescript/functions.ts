import type { Hir } from '@svc/contracts'
import { type Doc, hardline, join, layout } from '../doc/doc.ts'
import { lowerType } from '../hir/lower-types.ts'
import type { Const, FunctionDeclaration } from '../syntax/ast.ts'
import { block, expressionStatement } from './code.ts'
import { conditionStatements } from './conditions.ts'
import {
  calledAtOnce,
  type Emitter,
  type FunctionFrame,
  inFrame,
  newEmitter,
  PLAIN_FRAME,
  type Views,
  within,
  written
} from './emitter.ts'
import { functionBody, letStatement, paramsCode } from './expressions.ts'
import { distinguishesTypes, type Instance } from './instances.ts'
import { type Build, EmittedModule } from './module.ts'
import { valueName } from './names.ts'
import { ExportScope, Scope } from './scope.ts'
import { codeOfBody, usedNames } from './used-names.ts'

/**
 * Translates the functions and constants of the program that browsers use, and those that they use themselves. Returns
 * a module without its header; null if there are none.
 */
export function functionsText(build: Build, views: Views | null): string | null {
  const { program, shared } = build
  if (shared.size === 0) return null
  const file = new EmittedModule(build, { isShared: true })
  const made: { readonly declaration: FunctionDeclaration | Const; readonly doc: Doc }[] = []
  // A translation may add names, which a set visits, too.
  for (const name of shared) {
    const instance = program.instances.get(name)
    const declaration = program.names.get(instance?.of ?? name)?.declaration
    const body = instance?.body ?? program.body(name)
    if (body === null) continue
    if (declaration?.kind === 'Const' && !made.some(each => each.declaration === declaration)) {
      made.push({ declaration, doc: constantDoc(declaration, body, file, views) })
    }
    if (declaration?.kind === 'Function') {
      made.push({ declaration, doc: functionDoc({ declaration, name, body, instance }, file, views) })
    }
  }
  // Constants come first, in source order, since only functions may be used before their declaration.
  const rank = ({ kind }: FunctionDeclaration | Const): number => (kind === 'Const' ? 0 : 1)
  const ordered = made.sort(({ declaration: a }, { declaration: b }) => rank(a) - rank(b) || a.start - b.start)
  const docs = ordered.map(({ doc }) => doc)
  const printed = layout(join([hardline, hardline], docs), 2)
  const imports = file.imports.lines()
  return `${imports.length === 0 ? '' : `${imports.join('\n')}\n\n`}${printed}\n`
}

interface EmittedFunction {
  readonly declaration: FunctionDeclaration
  /** That of the declaration, or of a copy of it. */
  readonly name: string
  readonly body: Hir.Body
  /** undefined for a function that is no copy. */
  readonly instance: Instance | undefined
}

function functionDoc(
  { declaration, name, body, instance }: EmittedFunction,
  outer: EmittedModule,
  views: Views | null
): Doc {
  const { program } = outer
  const { params } = declaration
  const isCopy = instance !== undefined
  const result = isCopy ? null : declaration.result
  const names = isCopy ? [] : declaration.generics.map(({ text }) => text)
  const file = outer.within(new Set(names))
  const conditions = instance?.conditions ?? program.conditionsOf(declaration.name.text)
  const code = [...codeOfBody(body), ...conditions.flatMap(condition => condition.body.block)]
  const e: Emitter = { ...newEmitter(file, body.locals, new Scope(null, usedNames(code, program))), views }
  const list = paramsCode(e, body, (type, index) => {
    // TypeScript would refuse what the function does with arguments of other types.
    if (isCopy && distinguishesTypes(body)) return 'any'
    const written = isCopy ? null : (params[index]?.type ?? null)
    return written === null ? file.typeOrAny(type) : file.declaredType(lowerType(written))
  })
  const found = instance?.result ?? program.resultOf(declaration)
  const isAsync = program.isAsync(declaration.name.text)
  const isUnit = found.kind === 'unit'
  const type = isUnit ? 'void' : result === null ? file.type(found) : file.declaredType(lowerType(result))
  const annotation = type === null ? '' : `: ${isAsync ? `Promise<${type}>` : type}`
  const frame = { ...PLAIN_FRAME, mayAwait: isAsync, onFailure: isUnit ? 'throw' : 'return' } as const
  const write = (): Doc[] => functionBody(e, body.block, frame, { kind: isUnit ? 'drop' : 'return' })
  const checks = (kind: 'require' | 'ensure', result: string): Doc[] => {
    const own = conditions.filter(each => each.kind === kind || each.kind === 'invariant')
    return inFrame(e, { ...frame, onFailure: 'throw' }, () => conditionStatements(e, own, body.params, result))
  }
  const statements = conditions.length === 0 ? write() : checkedStatements(e, frame, type, checks, write)
  return [
    `export ${isAsync ? 'async ' : ''}function ${valueName(name)}${names.length === 0 ? '' : `<${names.join(', ')}>`}`,
    list,
    annotation,
    ' ',
    block(statements)
  ]
}

/** Returns the statements of a function with conditions. Its body becomes a function that is called at once. */
function checkedStatements(
  e: Emitter,
  frame: FunctionFrame,
  type: string | null,
  checks: (kind: 'require' | 'ensure', result: string) => Doc[],
  write: () => Doc[]
): Doc[] {
  const isUnit = type === 'void'
  const before = checks('require', isUnit ? 'null' : `(null as unknown as ${type ?? 'any'})`)
  const result = isUnit ? 'null' : e.scope.fresh('result')
  const after = checks('ensure', result)
  if (after.length === 0) return [...before, ...write()]
  const { doc } = inFrame(e, frame, () =>
    calledAtOnce(
      e,
      within(e, () => e.out.push(...write())),
      isUnit ? null : type
    )
  )
  if (isUnit) return [...before, expressionStatement(doc), ...after]
  return [...before, [`const ${result} = `, doc], ...after, `return ${result}`]
}

function constantDoc(
  declaration: Const,
  { locals, block: [only] }: Hir.Body,
  file: EmittedModule,
  views: Views | null
): Doc {
  if (only?.kind !== 'Let') return ''
  const isAnnotated = declaration.statement.kind === 'Let' && declaration.statement.type !== null
  const exported = boundLocals(only.pattern)
  const names = exported.map(local => locals[local]?.name ?? '')
  const scope = new ExportScope(new Map(names.map(name => [name, valueName(name)])))
  const e: Emitter = { ...newEmitter(file, locals, scope), views }
  const statements = written(e, () => letStatement(e, only, isAnnotated))
  const last = statements.at(-1)
  if (last === undefined) return ''
  return [...statements.slice(0, -1).map(each => [each, hardline] as Doc), 'export ', last]
}

function boundLocals(pattern: Hir.Pattern): Hir.LocalId[] {
  switch (pattern.kind) {
    case 'Bind':
      return [pattern.local]
    case 'Tuple':
      return pattern.items.flatMap(boundLocals)
    case 'Variant':
      return pattern.args.flatMap(boundLocals)
    default:
      return []
  }
}
