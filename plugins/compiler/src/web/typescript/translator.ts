import type { Doc } from '../../doc/doc.ts'
import type { Argument, Call, Expression } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import type { Span } from '../../syntax/node.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import { arrow, block, call, code, Level, operand, type TypeScriptCode } from '../../typescript/code.ts'
import { isMobileImport } from '../app-hooks/used-hooks.ts'
import { builtinResult } from '../value-types/builtin-results.ts'
import { methodResult } from '../value-types/methods.ts'
import { operatorResult } from '../value-types/operators.ts'
import { ANY, generic, join, NEVER, UNIT, type ValueType } from '../value-types/type.ts'
import type { EmittedModule } from './emitted-module.ts'
import { contains } from './needs-statements.ts'
import type { Scope } from './scope.ts'
import { textShape } from './text-shape.ts'
import { fieldAt, itemOf } from './value-types.ts'

/** The TypeScript function that is being generated. */
export interface FunctionFrame {
  /** True if the function is async, so that it may contain server calls. */
  readonly mayAwait: boolean
  /** True if the function may run after another render of the component. */
  readonly isLater: boolean
  /** True if `break` and `continue` are allowed. */
  readonly isInLoop: boolean
  /** Handling of a failure by `?`. */
  readonly onFailure: 'return' | 'throw'
  /** True if the function ends when its component leaves the page. */
  readonly isCancellable?: boolean
  /** States that are read after an assignment, each with the variable of its newest value. */
  readonly newest: ReadonlyMap<string, string>
}

/** Synchronous device functions. */
export const SYNCHRONOUS: ReadonlySet<string> = new Set(['platform', 'has_camera'])

/**
 * Adds a value that is requested from the server during a render. Returns its name. `follow`: function that passes the
 * later values of a live query on; null for other calls.
 */
export type RemoteValues = (
  call: Call,
  translated: TypeScriptCode,
  type: ValueType,
  follow: TypeScriptCode | null
) => string | null

/**
 * Translates code to TypeScript. Statements that an expression needs are added to the enclosing function. If that is
 * not possible, they become a function that is called immediately.
 */
export abstract class Translator {
  readonly file: EmittedModule
  protected scope: Scope
  protected frame: FunctionFrame = {
    mayAwait: false,
    isLater: false,
    isInLoop: false,
    onFailure: 'throw',
    newest: new Map()
  }
  /** Expressions whose value is already in a variable. */
  protected readonly fixed = new Map<Expression, TypeScriptCode>()
  /** Statements before the current expression. */
  protected out: Doc[] = []
  /** null if server calls are not possible here. */
  remoteValues: RemoteValues | null = null

  constructor(file: EmittedModule, scope: Scope) {
    this.file = file
    this.scope = scope
  }

  get program() {
    return this.file.program
  }

  abstract expression(expression: Expression): TypeScriptCode

  /** Returns the type of an expression, even if its names exist only in the translation. */
  typeOf(expression: Expression): ValueType {
    const node = bare(expression)
    if (node.kind === 'Identifier') {
      const local = this.scope.lookup(node.name)
      if (local !== undefined && local.type.kind !== 'any') return local.type
    }
    const known = this.program.typeOf(node)
    if (known.kind !== 'any' && !(known.kind === 'generic' && known.args.every(each => each.kind === 'any')))
      return known
    const found = this.#inferred(node)
    return found.kind === 'any' ? known : found.kind === 'dbResult' ? found.value : found
  }

  #inferred(node: Expression): ValueType {
    switch (node.kind) {
      case 'Member':
        return fieldAt(this.typeOf(node.object), node.property.text, this.program.reader)
      case 'IndexAccess':
        return itemOf(this.typeOf(node.object))
      case 'TupleIndex': {
        const objectType = this.typeOf(node.object)
        return objectType.kind === 'tuple' ? (objectType.items[node.index] ?? ANY) : ANY
      }
      case 'Binary':
        return operatorResult(node.operator, this.typeOf(node.left), this.typeOf(node.right)) ?? ANY
      case 'Call': {
        const { callee } = node
        if (callee.kind === 'Member') return methodResult(this.typeOf(callee.object), callee.property.text) ?? ANY
        if (callee.kind !== 'Identifier') return ANY
        const local = this.scope.lookup(callee.name)
        if (local !== undefined) return local.type.kind === 'function' ? local.type.result : ANY
        const entry = this.program.names.get(callee.name)
        if (entry?.kind === 'function') return this.program.resultOf(entry.declaration)
        if (entry !== undefined) return ANY
        return builtinResult(
          callee.name,
          node.args.map(each => this.typeOf(each.value))
        )
      }
      case 'Tuple':
        return { kind: 'tuple', items: node.items.map(item => this.typeOf(item)) }
      case 'List':
        return generic('List', node.items.map(item => this.typeOf(item)).reduce(join, NEVER))
      case 'Block': {
        const last = node.statements.at(-1)
        return last?.kind === 'ExpressionStatement' ? this.typeOf(last.expression) : UNIT
      }
      case 'If':
        return node.else === null ? UNIT : join(this.typeOf(node.then), this.typeOf(node.else))
      case 'Match':
        return node.arms.map(({ body }) => (isStatement(body) ? NEVER : this.typeOf(body))).reduce(join, NEVER)
      case 'For':
        return generic('List', this.typeOf(node.body))
      default:
        return ANY
    }
  }

  /** Translates an expression together with the statements that it needs. */
  closed(expression: Expression): TypeScriptCode {
    return this.enclose(() => this.expression(expression))
  }

  /** Returns the result of `make`. If it needs statements, they become a function that is called immediately. */
  protected enclose(make: () => TypeScriptCode): TypeScriptCode {
    const outer = this.out
    const { scope } = this
    this.out = []
    this.scope = scope.inner()
    const made = this.inFrame({ ...this.frame, isInLoop: false }, make)
    const statements = this.out
    this.out = outer
    this.scope = scope
    if (statements.length === 0) return made
    return this.calledAtOnce([...statements, ['return ', made.doc]])
  }

  protected calledAtOnce(statements: readonly Doc[]): TypeScriptCode {
    const isAsync = this.frame.mayAwait && mentionsAwait(statements)
    const made = code(['(', arrow(isAsync ? 'async ()' : '()', statements).doc, ')()'])
    return isAsync ? code(['await ', made.doc], Level.prefix) : made
  }

  /** Collects the statements that `write` produces in this function, for a block in braces. */
  protected within(write: () => void): Doc[] {
    return this.#collected(this.scope.inner(), write)
  }

  /** Like {@link within}, but for statements without braces, whose names must differ from those of the block. */
  protected withinBlock(write: () => void): Doc[] {
    return this.#collected(this.scope.overlay(), write)
  }

  #collected(inner: Scope, write: () => void): Doc[] {
    const outer = this.out
    const { scope } = this
    this.out = []
    this.scope = inner
    write()
    const statements = this.out
    this.out = outer
    this.scope = scope
    return statements
  }

  /** Translates a nested function. Returns the result of `write`. */
  protected inFrame<A>(frame: FunctionFrame, write: () => A): A {
    const outer = this.frame
    this.frame = frame
    const made = write()
    this.frame = outer
    return made
  }

  protected blockOf(write: () => void): Doc {
    return block(this.within(write))
  }

  /**
   * Translates operands in order. If a later one needs statements, earlier values are stored in variables before them,
   * so that the evaluation order is preserved.
   */
  protected operands(expressions: readonly Expression[]): TypeScriptCode[] {
    const codes: TypeScriptCode[] = []
    for (const expression of expressions) {
      const before = this.out.length
      const made = this.expression(expression)
      if (this.out.length > before) this.#keep(codes, before)
      codes.push(made)
    }
    return codes
  }

  #keep(codes: TypeScriptCode[], position: number): void {
    let at = position
    for (const [index, each] of codes.entries()) {
      if (each.isStable === true) continue
      const name = this.scope.fresh('value')
      this.out.splice(at++, 0, [`const ${name} = `, each.doc])
      codes[index] = { doc: name, level: Level.postfix, isStable: true }
    }
  }

  /** Returns a name for the value, so that it can be used more than once. */
  protected named(made: TypeScriptCode, preferred: string): string {
    if (made.isStable === true && typeof made.doc === 'string' && /^[\w$]+$/.test(made.doc)) return made.doc
    const name = this.scope.fresh(preferred)
    this.out.push([`const ${name} = `, made.doc])
    return name
  }

  /** Returns a value as the text that `str` and `print` make of it. */
  protected textOf(value: TypeScriptCode, type: ValueType): TypeScriptCode {
    const shape = textShape(type, this.program.reader)
    return shape === null ? call(this.helper('text'), value.doc) : call(this.helper('text_of'), value.doc, shape)
  }

  /** True if a value does not show parts of its type, so that its text depends on the type. */
  protected isHidden(type: ValueType): boolean {
    return textShape(type, this.program.reader) !== null
  }

  helper(name: string): string {
    return this.file.helper(name)
  }

  protected unavailable(feature: string, at: Span): TypeScriptCode {
    this.program.report('web.not_in_browser', `${feature} is not available in a browser`, at)
    return code([
      this.helper('unavailable'),
      '(',
      JSON.stringify(feature).replaceAll("'", "\\'").replace(/^"|"$/g, "'"),
      ')'
    ])
  }

  /** True if a call waits for the server, directly or through its callees. */
  protected waits(name: string): boolean {
    const local = this.scope.lookup(name)
    return local === undefined ? this.program.isAsync(name) : local.isAsync
  }

  /** True if code must wait, except for the functions in it. */
  protected hasToWait(node: AnyNode): boolean {
    return contains(node, each => {
      if (each.kind !== 'Call') return false
      const { callee, args } = each as Call
      // A method calls its function argument synchronously.
      const waits = ({ value }: Argument): boolean => value.kind === 'Lambda' && this.hasToWait(value.body)
      if (callee.kind === 'Member' && args.some(waits)) return true
      if (callee.kind === 'Member') return this.isMobile(callee.object) && !SYNCHRONOUS.has(callee.property.text)
      return callee.kind === 'Identifier' && this.waits(callee.name)
    })
  }

  /** True if an expression is the namespace of device functions. */
  protected isMobile(object: Expression): boolean {
    if (object.kind === 'Member') return object.property.text === 'mobile' || this.isMobile(object.object)
    if (object.kind !== 'Identifier' || this.scope.lookup(object.name) !== undefined) return false
    const declaration = this.program.names.get(object.name)?.declaration
    if (declaration?.kind !== 'Import') return object.name === 'mobile'
    return declaration.items.some(item => isMobileImport(item) && (item.alias?.text ?? 'mobile') === object.name)
  }

  protected awaited({ doc, level }: TypeScriptCode): TypeScriptCode {
    return code(['await ', operand({ doc, level }, Level.prefix)], Level.prefix)
  }
}

/** True if a statement contains `await` outside of nested functions. */
function mentionsAwait(doc: Doc): boolean {
  if (typeof doc === 'string') return /\bawait /.test(doc)
  if ('type' in doc) return doc.type === 'indent' || doc.type === 'group' ? mentionsAwait(doc.content) : false
  return doc.some(mentionsAwait)
}
