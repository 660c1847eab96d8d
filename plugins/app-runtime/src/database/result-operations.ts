import type { HirExpression, HirPattern, HirStatement, HirType, Program } from '@svc/contracts'
import { type Forms, type Name, usesOf } from './variable-uses.ts'

/** Places where a program uses a database answer as a Result. Nodes are compared by identity. */
export interface ResultOperations {
  /** Operations that return Ok or Error instead of a value or a failure. */
  readonly results: ReadonlySet<object>
  /** `Ident` nodes of variables that hold such an Ok or Error, where the value is needed. */
  readonly unwrapped: ReadonlySet<object>
  /** `?` nodes that propagate failures: the enclosing function returns no Result. */
  readonly transparent: ReadonlySet<object>
}

/** Methods that only a Result has, or that prefer the Result. */
const RESULT_METHODS: ReadonlySet<string> = new Set(['is_ok', 'is_err', 'unwrap', 'unwrap_or'])

/**
 * An operation returns a Result in these places: under `?`, in a `match` with Ok or Error, before methods of a Result,
 * and where a Result is declared (variable, parameter, return type). The same holds for an immutable variable
 * initialised with it. Elsewhere it returns the value, and failures end the program.
 */
export function resultOperations(program: Program): ResultOperations {
  const search = new ResultSearch(program)
  const { module, tests, constants } = program
  search.visit([module, constants], 'unknown')
  for (const test of tests) search.visit(test.body, 'other')
  return search
}

/** Result type of the enclosing function. */
type Returned = 'result' | 'other' | 'unknown'

class ResultSearch implements ResultOperations {
  readonly results = new Set<object>()
  readonly unwrapped = new Set<object>()
  readonly transparent = new Set<object>()
  /** Names used as a Result. */
  readonly #taken = new Set<Name>()
  /** `?` after names, where failures propagate. */
  readonly #raising = new Map<Name, object>()
  readonly #params = new Map<string, readonly (HirType | null)[]>()

  constructor({ module }: Program) {
    const endpoints = [...module.query_fns, ...module.mutation_fns, ...module.server_fns]
    for (const { name, params } of [...module.functions, ...endpoints]) {
      this.#params.set(
        name,
        params.map(({ type_ann }) => type_ann)
      )
    }
  }

  visit(node: object, returned: Returned): void {
    if (Array.isArray(node)) {
      for (const each of node) if (typeof each === 'object' && each !== null) this.visit(each, returned)
      // After all possible reads of the variable.
      for (let index = 0; index < node.length; index++) this.#variable(node[index], node, index)
      return
    }
    const inner = 'return_type' in node ? this.#function(node as Partial<FunctionNode>) : returned
    for (const key in node) {
      const child = (node as Readonly<Record<string, unknown>>)[key]
      if (typeof child !== 'object' || child === null || key === 'span') continue
      this.#form(key, child, inner)
      this.visit(child, key === 'Lambda' ? returnedBy((child as Forms['Lambda'])[1]) : inner)
    }
  }

  #function({ return_type = null, body = [] }: Partial<FunctionNode>): Returned {
    const returned = returnedBy(return_type)
    if (returned === 'result') this.#takeLast(body)
    return returned
  }

  /** A form of the language, by its name. */
  #form(name: string, form: object, returned: Returned): void {
    switch (name) {
      case 'Return': {
        const { value } = form as Forms['Return']
        if (returned === 'result' && value !== null) this.#take(value)
        return
      }
      case 'Let': {
        const { type_ann, value } = form as Forms['Let']
        if (returnedBy(type_ann) === 'result') this.#take(value)
        return
      }
      case 'Try':
        this.#try(form as Forms['Try'], returned)
        return
      case 'Match': {
        const [subject, arms] = form as Forms['Match']
        if (arms.some(({ pattern }) => isResultPattern(pattern))) this.#take(subject)
        return
      }
      case 'MethodCall': {
        const [object, method] = form as Forms['MethodCall']
        if (RESULT_METHODS.has(method)) this.#take(object)
        return
      }
      case 'Lambda': {
        const [, result, body] = form as Forms['Lambda']
        if (returnedBy(result) === 'result') this.#take(body)
        return
      }
      case 'Call': {
        const [callee, args] = form as Forms['Call']
        const types = 'Ident' in callee ? this.#params.get(callee.Ident[0]) : undefined
        if (types === undefined) return
        for (const [index, { value }] of args.entries()) {
          if (returnedBy(types[index] ?? null) === 'result') this.#take(value)
        }
      }
    }
  }

  #try(node: Forms['Try'], returned: Returned): void {
    if (returned !== 'other') this.#take(node.target)
    else if (operationIn(node.target) !== null) this.transparent.add(node)
    else if ('Ident' in node.target) this.#raising.set(node.target.Ident, node)
  }

  /** An expression that should be a Result, possibly through its last expression. */
  #take(node: HirExpression): void {
    const operation = operationIn(node)
    if (operation !== null) this.results.add(operation)
    else if ('Ident' in node) this.#taken.add(node.Ident)
    else if ('Block' in node) this.#takeLast(node.Block[0])
    else if ('If' in node) {
      this.#takeLast(node.If[1])
      if (node.If[2] !== null) this.#takeLast(node.If[2])
    } else if ('Match' in node) for (const { body } of node.Match[1]) this.#take(body)
  }

  #takeLast(body: readonly HirStatement[]): void {
    const last = body.at(-1)
    if (last !== undefined && 'Expr' in last) this.#take(last.Expr.expr)
  }

  /** A variable initialised by an operation, and the following statements. */
  #variable(statement: unknown, block: readonly unknown[], index: number): void {
    const bound = boundOperation(statement)
    if (bound === null || this.results.has(bound.operation)) return
    const names = usesOf(bound.name, block.slice(index + 1))
    for (const name of names) {
      const raising = this.#raising.get(name)
      if (raising !== undefined) this.transparent.add(raising)
    }
    if (!names.some(name => this.#taken.has(name))) return
    this.results.add(bound.operation)
    for (const name of names) if (!this.#taken.has(name)) this.unwrapped.add(name)
  }
}

interface FunctionNode {
  readonly return_type: HirType | null
  readonly body: readonly HirStatement[]
}

/** `db.query(…)`. */
export function isRawCall([object, method]: readonly [HirExpression, string, ...unknown[]]): boolean {
  return method === 'query' && 'Ident' in object && object.Ident[0] === 'db'
}

/** Key of an expression that queries the database. */
function operationIn(node: HirExpression): object | null {
  if ('DbTableOp' in node) return node.DbTableOp
  return 'MethodCall' in node && isRawCall(node.MethodCall) ? node.MethodCall : null
}

function boundOperation(statement: unknown): { readonly name: string; readonly operation: object } | null {
  if (typeof statement !== 'object' || statement === null || !('Let' in statement)) return null
  const { pattern, value, mutable } = (statement as Extract<HirStatement, { readonly Let: unknown }>).Let
  const operation = operationIn(value)
  return mutable || !('Ident' in pattern) || operation === null ? null : { name: pattern.Ident[0], operation }
}

function returnedBy(type: HirType | null): Returned {
  if (type === null) return 'unknown'
  return typeof type === 'object' && 'Generic' in type && type.Generic[0] === 'Result' ? 'result' : 'other'
}

function isResultPattern(pattern: HirPattern): boolean {
  if ('Or' in pattern) return pattern.Or[0].some(isResultPattern)
  return 'Constructor' in pattern && ['Ok', 'Error', 'Err'].includes(pattern.Constructor[0])
}
