import type { HirExpression, HirPattern, HirStatement, HirType, Program } from '@svc/contracts'
import { type Forms, type Name, usesOf } from './variable-uses.ts'

/** Database operations whose outcome is used as a Result. Syntax nodes are compared by identity. */
export interface ResultOperations {
  /** Operations that return Ok or Error instead of a value or a failure. */
  readonly results: ReadonlySet<object>
  /** `Ident` nodes that need the value in such an Ok or Error. */
  readonly unwrapped: ReadonlySet<object>
  /** `?` nodes in functions without a Result type; the failure of the operation propagates. */
  readonly transparent: ReadonlySet<object>
}

/** Methods that make an operation a Result. */
const RESULT_METHODS: ReadonlySet<string> = new Set(['is_ok', 'is_err', 'unwrap', 'unwrap_or'])

/**
 * Finds the operations that return a Result: under `?`, in a `match` with Ok or Error, before methods of a Result,
 * and as a variable, argument or return value of type Result. An immutable variable that holds the outcome counts
 * as the operation. All other operations return the plain value, and their failures end the program.
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
  /** Reads of variables that need a Result. */
  readonly #needingResult = new Set<Name>()
  /** `?` after a variable, in functions that do not return a Result. */
  readonly #propagating = new Map<Name, object>()
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
      // Variables come last, after all their uses have been visited.
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
    if (returned === 'result') this.#requireResultOfLast(body)
    return returned
  }

  /** Visits a language form by its name. */
  #form(name: string, form: object, returned: Returned): void {
    switch (name) {
      case 'Return': {
        const { value } = form as Forms['Return']
        if (returned === 'result' && value !== null) this.#requireResult(value)
        return
      }
      case 'Let': {
        const { type_ann, value } = form as Forms['Let']
        if (returnedBy(type_ann) === 'result') this.#requireResult(value)
        return
      }
      case 'Try':
        this.#try(form as Forms['Try'], returned)
        return
      case 'Match': {
        const [subject, arms] = form as Forms['Match']
        if (arms.some(({ pattern }) => isResultPattern(pattern))) this.#requireResult(subject)
        return
      }
      case 'MethodCall': {
        const [object, method] = form as Forms['MethodCall']
        if (RESULT_METHODS.has(method)) this.#requireResult(object)
        return
      }
      case 'Lambda': {
        const [, result, body] = form as Forms['Lambda']
        if (returnedBy(result) === 'result') this.#requireResult(body)
        return
      }
      case 'Call': {
        const [callee, args] = form as Forms['Call']
        const types = 'Ident' in callee ? this.#params.get(callee.Ident[0]) : undefined
        if (types === undefined) return
        for (const [index, { value }] of args.entries()) {
          if (returnedBy(types[index] ?? null) === 'result') this.#requireResult(value)
        }
      }
    }
  }

  #try(node: Forms['Try'], returned: Returned): void {
    if (returned !== 'other') this.#requireResult(node.target)
    else if (operationIn(node.target) !== null) this.transparent.add(node)
    else if ('Ident' in node.target) this.#propagating.set(node.target.Ident, node)
  }

  /** Marks an expression, or the last expression of its blocks, as needing a Result. */
  #requireResult(node: HirExpression): void {
    const operation = operationIn(node)
    if (operation !== null) this.results.add(operation)
    else if ('Ident' in node) this.#needingResult.add(node.Ident)
    else if ('Block' in node) this.#requireResultOfLast(node.Block[0])
    else if ('If' in node) {
      this.#requireResultOfLast(node.If[1])
      if (node.If[2] !== null) this.#requireResultOfLast(node.If[2])
    } else if ('Match' in node) for (const { body } of node.Match[1]) this.#requireResult(body)
  }

  #requireResultOfLast(body: readonly HirStatement[]): void {
    const last = body.at(-1)
    if (last !== undefined && 'Expr' in last) this.#requireResult(last.Expr.expr)
  }

  /** Resolves a variable initialised by an operation, from its uses in the following statements. */
  #variable(statement: unknown, block: readonly unknown[], index: number): void {
    const bound = boundOperation(statement)
    if (bound === null || this.results.has(bound.operation)) return
    const names = usesOf(bound.name, block.slice(index + 1))
    for (const name of names) {
      const propagating = this.#propagating.get(name)
      if (propagating !== undefined) this.transparent.add(propagating)
    }
    if (!names.some(name => this.#needingResult.has(name))) return
    this.results.add(bound.operation)
    for (const name of names) if (!this.#needingResult.has(name)) this.unwrapped.add(name)
  }
}

interface FunctionNode {
  readonly return_type: HirType | null
  readonly body: readonly HirStatement[]
}

/** True for `db.query(…)`. */
export function isRawCall([object, method]: readonly [HirExpression, string, ...unknown[]]): boolean {
  return method === 'query' && 'Ident' in object && object.Ident[0] === 'db'
}

/** Returns the node that identifies a database operation; null for other expressions. */
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
