import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { arrow, block, call, code, Level, operand, stable, type TypeScriptCode } from './code.ts'
import type { EmittedModule } from './module.ts'
import { literal } from './names.ts'
import { type Binding, Scope } from './scope.ts'
import { textShape } from './text-shape.ts'
import { hasToWait } from './uses.ts'
import { ANY, isNamed } from './value-types.ts'

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
  readonly isCancellable: boolean
  /** States that are read after an assignment, each with the variable of its newest value. */
  readonly newest: ReadonlyMap<Hir.LocalId, string>
}

/** Frame of code that neither waits nor runs later. */
export const PLAIN_FRAME: FunctionFrame = {
  mayAwait: false,
  isLater: false,
  isInLoop: false,
  onFailure: 'throw',
  isCancellable: false,
  newest: new Map()
}

/** Use of an expression's value: returned, assigned or discarded. */
export type Sink =
  | { readonly kind: 'drop' }
  | { readonly kind: 'return' }
  | { readonly kind: 'assign'; readonly to: string }

/** Code with a value: an expression, or statements with the value of the last one. */
export type Code = Hir.Expr | Hir.Block

/**
 * Adds a value that is requested from the server during a render. Returns its name. `follow`: function that passes the
 * later values of a live query on; null for other calls.
 */
export type RemoteValues = (
  call: Hir.Call,
  translated: TypeScriptCode,
  type: Hir.Type,
  follow: TypeScriptCode | null
) => string | null

/** Translation of the parts of views. */
export interface Views {
  markup(e: Emitter, node: Hir.Element | Hir.Fragment): TypeScriptCode
  /** Translates a string that a view shows, with its placeholders. */
  text(e: Emitter, node: Hir.Str): TypeScriptCode
  /**
   * Translates the value of a loop's body, with its key. `position` returns the name of the item's index. null if the
   * body is no element.
   */
  item(e: Emitter, node: Hir.For, position: () => string): TypeScriptCode | null
}

/**
 * State of the translation of one body, or of all members of a component. Statements that an expression needs are
 * added to the enclosing function. If that is not possible, they become a function that is called immediately.
 */
export interface Emitter {
  readonly file: EmittedModule
  readonly locals: readonly Hir.Local[]
  readonly bound: Map<Hir.LocalId, Binding>
  scope: Scope
  frame: FunctionFrame
  /** Statements before the current expression. */
  out: Doc[]
  /** Nodes whose value a view shows. */
  readonly shown: Set<Hir.Expr>
  /** Variables that TypeScript has narrowed at this point, with their known value. */
  known: Map<string, string>
  /** Known values that the branches of a value assign to its variable. */
  readonly assigned: Map<string, Set<string | undefined>>
  /** Number of enclosing `svg` elements of a view. */
  svgDepth: number
  /** null where no view can be. */
  views: Views | null
  /** null if server calls are not possible here. */
  remoteValues: RemoteValues | null
  /** Returns the function of the component that holds back a promise once the component has left the page. */
  whileShown: (() => string) | null
}

export function newEmitter(file: EmittedModule, locals: readonly Hir.Local[], scope = new Scope()): Emitter {
  return {
    file,
    locals,
    bound: new Map(),
    scope,
    frame: PLAIN_FRAME,
    out: [],
    shown: new Set(),
    known: new Map(),
    assigned: new Map(),
    svgDepth: 0,
    views: null,
    remoteValues: null,
    whileShown: null
  }
}

interface BindOptions {
  /** TypeScript name, or code that reads the value; without it, an unused name. */
  readonly as?: string
  readonly isAsync?: boolean
}

/** Declares a variable in the current scope. */
export function bind(e: Emitter, local: Hir.LocalId, { as, isAsync = false }: BindOptions = {}): Binding {
  const { name, type, isMutable } = localOf(e, local)
  const unused = as ?? e.scope.fresh(name)
  if (as === undefined) e.known.delete(unused)
  return bound(e, name, {
    local,
    name: unused,
    type,
    setter: null,
    isVariable: isMutable,
    isOuter: e.scope.isOuter,
    isAsync
  })
}

/** Declares a component state, which is assigned by a call of its setter. */
export function bindState(e: Emitter, local: Hir.LocalId): Binding & { readonly setter: string } {
  const { name, type } = localOf(e, local)
  return bound(e, name, {
    local,
    name: e.scope.fresh(name),
    type,
    setter: e.scope.fresh(`set_${name}`),
    isVariable: false,
    isOuter: true,
    isAsync: false
  })
}

function bound<B extends Binding>(e: Emitter, name: string, binding: B): B {
  e.bound.set(binding.local, binding)
  e.scope.bind(name, binding)
  return binding
}

export function localOf(e: Emitter, local: Hir.LocalId): Hir.Local {
  const found = e.locals[local]
  if (found === undefined) throw new Error(`the body has no variable ${local}`)
  return found
}

/** Returns the variable of a local, which its declaration has bound. */
export function bindingOf(e: Emitter, local: Hir.LocalId): Binding {
  return e.bound.get(local) ?? bind(e, local)
}

/**
 * Returns the type of an expression. Where any value fits, the checker forgets the types of the elements and branches,
 * which the text of a value may need; of control nodes that a view shows, it discards the values.
 */
export function typeOf(e: Emitter, node: Hir.Expr): Hir.Type {
  const { type } = node
  if (type.kind === 'unit' && e.shown.has(node)) return ANY
  const isOpen = type.kind === 'any' || (type.kind === 'named' && type.args[0]?.kind === 'any')
  if (!isOpen) return type
  switch (node.kind) {
    case 'List':
      return e.file.program.types.named('List', [commonType(e, node.items)])
    case 'For':
      return e.file.program.types.named('List', [commonType(e, [node.body])])
    case 'Block':
      return commonType(e, lastValues(node.block))
    case 'If':
      return commonType(e, [...lastValues(node.then), ...lastValues(node.otherwise ?? [])])
    case 'Match': {
      const bodies = node.arms.map(({ body }) => body)
      return commonType(e, bodies)
    }
    case 'Call': {
      const { instances } = e.file.program
      return instances.get(instances.ofCall(node, each => typeOf(e, each)))?.result ?? type
    }
    default:
      return type
  }
}

/** Returns the type that all values have; `any` if they differ. */
function commonType(e: Emitter, values: readonly Hir.Expr[]): Hir.Type {
  return values.map(value => typeOf(e, value)).reduce((a, b) => joined(e, a, b), NEVER)
}

/** Joins two types. Equal types are one object. The elements of `[]` have no type. */
function joined(e: Emitter, a: Hir.Type, b: Hir.Type): Hir.Type {
  if (a === b || b.kind === 'never') return a
  if (a.kind === 'never') return b
  if (a.kind !== 'named' || b.kind !== 'named' || a.name !== b.name || a.args.length === 0) return ANY
  const args = a.args.map((arg, index) => joined(e, arg, b.args[index] ?? ANY))
  return e.file.program.types.named(a.name, args)
}

const NEVER: Hir.Type = { kind: 'never' }

function lastValues(block: Hir.Block): Hir.Expr[] {
  const last = block.at(-1)
  return last?.kind === 'Expr' ? [last.value] : []
}

/** Returns the result of `make`. If it needs statements, they become a function that is called immediately. */
export function enclose(e: Emitter, make: () => TypeScriptCode): TypeScriptCode {
  const { out, scope } = e
  e.out = []
  e.scope = scope.inner()
  const made = inFrame(e, { ...e.frame, isInLoop: false }, make)
  const statements = e.out
  e.out = out
  e.scope = scope
  if (statements.length === 0) return made
  return calledAtOnce(e, [...statements, ['return ', made.doc]])
}

/** Returns a function that is called immediately. `type`: the printed type of its result; null if TypeScript infers it. */
export function calledAtOnce(e: Emitter, statements: readonly Doc[], type: string | null = null): TypeScriptCode {
  const isAsync = e.frame.mayAwait && mentionsAwait(statements)
  const annotation = type === null ? '' : `: ${isAsync ? `Promise<${type}>` : type}`
  const made = code(['(', arrow(`${isAsync ? 'async ' : ''}()${annotation}`, statements).doc, ')()'])
  return isAsync ? code(['await ', made.doc], Level.prefix) : made
}

/** True if a statement contains `await` outside of nested functions. */
function mentionsAwait(doc: Doc): boolean {
  if (typeof doc === 'string') return /\bawait /.test(doc)
  if ('type' in doc) return doc.type === 'indent' || doc.type === 'group' ? mentionsAwait(doc.content) : false
  return doc.some(mentionsAwait)
}

/** Collects the statements that `write` produces in this function, for a block in braces. */
export function within(e: Emitter, write: () => void): Doc[] {
  return collected(e, e.scope.inner(), write)
}

/** Like {@link within}, but for statements without braces, whose names must differ from those of the block. */
export function withinBlock(e: Emitter, write: () => void): Doc[] {
  return collected(e, e.scope.overlay(), write)
}

/** Collects the statements that `write` produces, in the current scope. */
export function written(e: Emitter, write: () => void): Doc[] {
  return collected(e, e.scope, write)
}

function collected(e: Emitter, inner: Scope, write: () => void): Doc[] {
  const { out, scope } = e
  e.out = []
  e.scope = inner
  write()
  const statements = e.out
  e.out = out
  e.scope = scope
  return statements
}

export function blockOf(e: Emitter, write: () => void): Doc {
  return block(within(e, write))
}

/** Runs `write` in a new scope. */
export function inScope<A>(e: Emitter, write: () => A): A {
  const { scope } = e
  e.scope = scope.inner()
  const made = write()
  e.scope = scope
  return made
}

/** Translates a nested function. Returns the result of `write`. */
export function inFrame<A>(e: Emitter, frame: FunctionFrame, write: () => A): A {
  const outer = e.frame
  e.frame = frame
  const made = write()
  e.frame = outer
  return made
}

/** Returns a name for the value, so that it can be used more than once. */
export function named(e: Emitter, made: TypeScriptCode, preferred: string): string {
  if (made.isStable === true && typeof made.doc === 'string' && /^[\w$]+$/.test(made.doc)) return made.doc
  const name = e.scope.fresh(preferred)
  e.out.push([`const ${name} = `, made.doc])
  if (made.known === undefined) e.known.delete(name)
  else e.known.set(name, made.known)
  return name
}

/** Reads a variable that is never assigned. */
export function constant(e: Emitter, name: string): TypeScriptCode {
  return { ...stable(name), known: e.known.get(name) }
}

/** Returns a value as the text that `str` and `print` make of it. */
export function textOf(e: Emitter, value: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  if (isNamed(type, 'float')) return call(e.file.helper('float_text'), value.doc)
  const shape = textShape(type, e.file.program)
  return shape === null ? call(e.file.helper('text'), value.doc) : call(e.file.helper('text_of'), value.doc, shape)
}

/** Translates what browsers lack: the build is refused. */
export function unavailable(e: Emitter, feature: string, at: Hir.Span): TypeScriptCode {
  e.file.program.report('web.not_in_browser', `${feature} is not available in a browser`, at)
  return code([e.file.helper('unavailable'), '(', literal(feature), ')'])
}

export function awaited(e: Emitter, value: TypeScriptCode): TypeScriptCode {
  const isHeld = e.frame.isCancellable && e.whileShown !== null
  const { doc, level } = isHeld ? call(e.whileShown?.() ?? '', value.doc) : value
  return code(['await ', operand({ doc, level }, Level.prefix)], Level.prefix)
}

/** True if code must wait, except for the functions in it. */
export function waits(e: Emitter, node: Code): boolean {
  return hasToWait(node, e.file.program, local => e.bound.get(local)?.isAsync === true)
}
