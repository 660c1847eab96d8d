import type { GuardDeclaration, ProgramFacts, RequestUse, RowRules } from '@svc/contracts'
import type { HirBlock, HirDbTableOp, HirExpression, HirModule, HirParam } from './hir.ts'

/** A function, route or activity with its direct facts. */
interface Unit {
  readonly name: string
  readonly calls: ReadonlySet<string>
  use: RequestUse
}

const RANK: Readonly<Record<RequestUse, number>> = { none: 0, user: 1, all: 2 }

/** Computes which parts of the request the functions of a module depend on, through calls. */
export function requestFacts(
  module: HirModule,
  guards: readonly GuardDeclaration[],
  rules: readonly Pick<RowRules, 'table'>[]
): ProgramFacts {
  const units = unitsOf(module, new Set(rules.map(({ table }) => table)))
  for (const { name, auth } of guards) {
    const unit = auth === null ? undefined : units.get(name)
    if (unit !== undefined) raise(unit, 'user')
  }
  const callers = new Map<string, Unit[]>()
  for (const unit of units.values()) {
    for (const callee of unit.calls) {
      const known = callers.get(callee)
      if (known === undefined) callers.set(callee, [unit])
      else known.push(unit)
    }
  }
  const open = [...units.values()].filter(({ use }) => use !== 'none')
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const caller of callers.get(next.name) ?? []) if (raise(caller, next.use)) open.push(caller)
  }
  const used = [...units.values()].filter(({ use }) => use !== 'none')
  return { request: Object.fromEntries(used.map(({ name, use }) => [name, use])) }
}

function raise(unit: Unit, use: RequestUse): boolean {
  if (RANK[use] <= RANK[unit.use]) return false
  unit.use = use
  return true
}

function unitsOf(module: HirModule, ruled: ReadonlySet<string>): Map<string, Unit> {
  const exposed = [
    ...module.query_fns,
    ...module.mutation_fns,
    ...module.server_fns,
    ...module.mcp_tools.map(({ func }) => func),
    ...module.mcp_resources.map(({ func }) => func)
  ]
  const inner = [...module.functions, ...module.activities]
  const functions = new Set([...exposed, ...inner].map(({ name }) => name))
  const units = new Map<string, Unit>()
  const add = (name: string, params: readonly HirParam[], body: HirBlock, isExposed: boolean): void => {
    const isOwn = functions.has('request') || params.some(param => param.name === 'request')
    units.set(name, unitOf(name, body, functions, ruled, isExposed && !isOwn))
  }
  for (const fn of exposed) add(fn.name, fn.params, fn.body, true)
  for (const fn of inner) add(fn.name, fn.params, fn.body, false)
  for (const { route_contract, params = [], body } of module.routes) add(route_contract, params, body, true)
  return units
}

/** `ruled`: tables with row rules. `hasRequest`: whether the name `request` stands for the request in the body. */
function unitOf(
  name: string,
  body: HirBlock,
  functions: ReadonlySet<string>,
  ruled: ReadonlySet<string>,
  hasRequest: boolean
): Unit {
  const calls = new Set<string>()
  let use: RequestUse = 'none'
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('FieldAccess' in node && isUser(node.FieldAccess as readonly [HirExpression, string])) {
      if (hasRequest && use === 'none') use = 'user'
      return
    }
    if ('DbTableOp' in node && use === 'none') {
      // Row rules depend on the identity of the caller.
      const { table, plan } = node.DbTableOp as HirDbTableOp
      if (ruled.has(table) || plan.includes?.some(include => ruled.has(include.table))) use = 'user'
    }
    if ('Ident' in node) {
      const [text] = node.Ident as readonly [string]
      if (text === 'request' && hasRequest) use = 'all'
      if (functions.has(text)) calls.add(text)
      return
    }
    for (const inner of Array.isArray(node) ? node : Object.values(node)) visit(inner)
  }
  visit(body)
  return { name, calls, use }
}

/** True for `request.user` and `request.account`, which depend only on the identity of the caller. */
function isUser([object, member]: readonly [HirExpression, string, ...unknown[]]): boolean {
  return 'Ident' in object && object.Ident[0] === 'request' && (member === 'user' || member === 'account')
}
