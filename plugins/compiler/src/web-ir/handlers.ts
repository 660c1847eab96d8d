import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { arrow, call, code, firstText, Level, type TypeScriptCode } from '../typescript/code.ts'
import { type Emitter, type FunctionFrame, inScope, unavailable, waits, within } from '../typescript/emitter.ts'
import { expression, functionBody, paramsCode, store } from '../typescript/expressions.ts'
import { contains } from '../typescript/uses.ts'
import { ANY } from '../typescript/value-types.ts'

/** How an element calls a handler. */
export interface HandlerUse {
  /** Known types of the arguments. */
  readonly argumentTypes: readonly Hir.Type[]
  /** True if the handler replaces the sending of a form by the browser. */
  readonly isSubmit: boolean
}

const EVENT: HandlerUse = { argumentTypes: [ANY], isSubmit: false }

/** Translates the handler of an event. */
export function handlerCode(e: Emitter, value: Hir.Expr, use: HandlerUse = EVENT): TypeScriptCode {
  switch (value.kind) {
    case 'Lambda':
      return lambdaHandler(e, value, use)
    case 'Function':
    case 'Local': {
      const params = parameterCount(e, value)
      const isDirect = params === null || (params > 0 && use.argumentTypes.length > 0 && value.kind === 'Local')
      return isDirect ? direct(e, value, use) : called(e, value, params > 0, use)
    }
    case 'Constant':
    case 'Native':
    case 'Constructor':
    case 'Unresolved':
      return direct(e, value, use)
    default:
      return bodyHandler(e, value, use)
  }
}

function frameOf(e: Emitter, body: Hir.Expr, isCancellable = e.frame.isCancellable): FunctionFrame {
  const mayAwait = waits(e, body)
  return { ...e.frame, mayAwait, isLater: mayAwait, isInLoop: false, isCancellable, onFailure: 'throw' }
}

function lambdaHandler(e: Emitter, lambda: Hir.Lambda, { argumentTypes, isSubmit }: HandlerUse): TypeScriptCode {
  const { params, body } = lambda
  return inScope(e, () => {
    const isUnnamed = isSubmit && params.length === 0
    const annotation = (type: Hir.Type, index: number): string | null =>
      argumentTypes[index] === undefined || readsTarget(body, params[index]) ? e.file.typeOrAny(type) : null
    const list = isUnnamed ? e.scope.fresh('event') : paramsCode(e, lambda, annotation)
    const [first] = params
    const event = isUnnamed || first === undefined ? list : (e.bound.get(first)?.name ?? '')
    const frame = frameOf(e, body, lambda.isCancellable)
    const statements = functionBody(e, body, frame, { kind: 'drop' })
    return handler(list, frame.mayAwait, isSubmit ? [prevented(event), ...statements] : statements)
  })
}

/** True if code reads members of the target of an event. React knows the element of few events. */
function readsTarget(body: Hir.Expr, event: Hir.LocalId | undefined): boolean {
  return contains(
    body,
    node =>
      node.kind === 'Field' && node.name === 'target' && node.object.kind === 'Local' && node.object.local === event,
    new Set()
  )
}

/** Translates code that runs on an event. */
function bodyHandler(e: Emitter, body: Hir.Expr, { isSubmit }: HandlerUse): TypeScriptCode {
  const frame = frameOf(e, body)
  if (!isSubmit) return handler('()', frame.mayAwait, functionBody(e, body, frame, { kind: 'drop' }))
  return inScope(e, () => {
    const event = e.scope.fresh('event')
    return handler(event, frame.mayAwait, [prevented(event), ...functionBody(e, body, frame, { kind: 'drop' })])
  })
}

/** Passes a function on, which gets the event. */
function direct(e: Emitter, value: Hir.Expr, { isSubmit }: HandlerUse): TypeScriptCode {
  const made = expression(e, value)
  return isSubmit ? handler('event', false, [prevented('event'), call(made.doc, 'event').doc]) : made
}

/** Number of parameters of a function of the program or of a variable; null if it is unknown. */
function parameterCount(e: Emitter, value: Hir.FunctionValue | Hir.LocalRead): number | null {
  if (value.kind === 'Function') return e.file.program.names.get(value.name)?.signature?.params.length ?? null
  return value.type.kind === 'fn' ? value.type.params.length : null
}

/** Identifier of the event, which no variable of the program has. */
const EVENT_LOCAL: Hir.LocalId = -1

/** Translates a function to a handler that calls it; without the event if it has no parameters. */
function called(
  e: Emitter,
  value: Hir.FunctionValue | Hir.LocalRead,
  takesEvent: boolean,
  use: HandlerUse
): TypeScriptCode {
  const { start, end } = value
  const event: Hir.LocalRead = { kind: 'Local', local: EVENT_LOCAL, type: ANY, start, end }
  const [args, params] = takesEvent ? [[event], [0]] : [[], []]
  const type = value.type.kind === 'fn' ? value.type.result : ANY
  const node: Hir.Expr =
    value.kind === 'Function'
      ? { kind: 'Call', name: value.name, args, params, options: null, type, start, end }
      : { kind: 'CallValue', callee: value, args, params, type, start, end }
  if (!takesEvent) return bodyHandler(e, node, use)
  return inScope(e, () => {
    const name = e.scope.fresh('event')
    const binding = { local: EVENT_LOCAL, type: ANY, setter: null, isVariable: false, isOuter: false, isAsync: false }
    e.bound.set(EVENT_LOCAL, { ...binding, name })
    const frame = frameOf(e, node)
    const statements = functionBody(e, node, frame, { kind: 'drop' })
    e.bound.delete(EVENT_LOCAL)
    const list = use.argumentTypes.length === 0 ? `(${name}: any)` : `(${name})`
    return handler(list, frame.mayAwait, use.isSubmit ? [prevented(name), ...statements] : statements)
  })
}

/** Returns a handler that assigns `read` of the event to a place. */
export function storingHandler(e: Emitter, target: Hir.Expr, read: (event: string) => TypeScriptCode): TypeScriptCode {
  const place = placeOf(target)
  if (place === null) return unavailable(e, 'an assignment to this', target)
  return inScope(e, () => {
    const event = e.scope.fresh('event')
    return handler(
      event,
      false,
      within(e, () => store(e, place, read(event)))
    )
  })
}

/** Returns the variable, or the part of one, that an expression reads; null for other expressions. */
function placeOf(node: Hir.Expr): Hir.Place | null {
  const { type } = node
  switch (node.kind) {
    case 'Local':
      return { root: node.local, path: [], type }
    case 'Field':
      return partOf(node.object, { field: node.name }, type)
    case 'Item':
      return partOf(node.object, { field: String(node.index) }, type)
    case 'Index':
      return partOf(node.object, { index: node.index }, type)
    default:
      return null
  }
}

function partOf(object: Hir.Expr, part: Hir.Place['path'][number], type: Hir.Type): Hir.Place | null {
  const outer = placeOf(object)
  return outer === null ? null : { root: outer.root, path: [...outer.path, part], type }
}

function handler(params: Doc, isAsync: boolean, statements: readonly Doc[]): TypeScriptCode {
  const [only] = statements
  const head: Doc = [isAsync ? 'async ' : '', params]
  if (statements.length !== 1 || only === undefined) return arrow(head, statements)
  // Inside braces, no semicolon is needed to separate the statement from a previous line.
  const single = Array.isArray(only) && only[0] === ';' ? (only[1] as Doc) : only
  return arrow(head, isKeywordStatement(single) ? statements : code(single, Level.choice))
}

/** Returns the statement that keeps a browser from sending a form and leaving the page. */
function prevented(event: Doc): Doc {
  return [event, '.preventDefault()']
}

function isKeywordStatement(statement: Doc): boolean {
  return /^(let|const|if|for|while|switch|return|throw|break|continue)\b/.test(firstText(statement))
}
