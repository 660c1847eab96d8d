import type { Hir, HirPredicate } from '@svc/contracts'
import type { Declaration, FunctionDeclaration } from '../syntax/ast.ts'
import { WITHOUT_BODY } from '../syntax/decorators.ts'
import type { CodeLowering } from './code.ts'

/** Maximum statements of a lookup. */
const MAX_STATEMENTS = 8

/** Natives without effects, whose time is proportional to their input. */
const NATIVES: ReadonlySet<string> = new Set(
  'str to_string len Option.is_some Option.is_none Option.unwrap Option.unwrap_or Result.is_ok Result.is_err Result.unwrap Result.unwrap_or'.split(
    ' '
  )
)

/** Allowed operators. `add` may concatenate strs, whose memory the interpreter limits. */
const OPERATORS: ReadonlySet<Hir.BinaryOperator> = new Set(['add', 'is', 'isnt', 'lt', 'gt', 'lte', 'gte'] as const)

/** Decorators of functions that do more than their body. */
const OTHERS: ReadonlySet<string> = new Set(['native', 'require', 'ensure', 'invariant', ...WITHOUT_BODY])

/**
 * Finds the queries, and the functions that they call, that end soon for any input and any table: they have no loops, recursion, closures, effects or
 * composite values, and each statement finds one row by its id. Returns their maximum number of statements, by name.
 */
export function plainLookups(code: CodeLowering): ReadonlyMap<string, number> {
  const functions = new Map<string, FunctionDeclaration>()
  for (const item of code.module.typed.module.items) {
    if (isOrdinary(item) && !functions.has(item.name.text)) functions.set(item.name.text, item)
  }
  const found = new Map<string, number>()
  /** null: no lookup, or a function that is being analysed, which rejects recursion. */
  const known = new Map<string, number | null>()
  const statementsOf = (name: string): number | null => {
    const before = known.get(name)
    if (before !== undefined) return before
    known.set(name, null)
    const item = functions.get(name)
    const statements = item === undefined ? null : statementsIn(code.function(item), statementsOf)
    known.set(name, statements)
    if (statements !== null) found.set(name, statements)
    return statements
  }
  for (const [name, { role }] of functions) if (role === 'query') statementsOf(name)
  return found
}

function isOrdinary(item: Declaration): item is FunctionDeclaration {
  if (item.kind !== 'Function' || (item.role !== 'plain' && item.role !== 'query')) return false
  return !item.decorators.some(({ name }) => OTHERS.has(name.text))
}

/** Returns the maximum number of statements of a body; null if it is no lookup. */
function statementsIn({ defaults, block }: Hir.Body, statementsOf: (name: string) => number | null): number | null {
  let statements = 0
  const isBlock = (of: Hir.Block): boolean => of.every(isStatement)
  const isEach = (values: readonly Hir.Expr[]): boolean => values.every(isPlain)
  const isMaybe = (value: Hir.Expr | null): boolean => value === null || isPlain(value)
  const isPlainBody = defaults.every(isMaybe) && isBlock(block)
  return isPlainBody && statements <= MAX_STATEMENTS ? statements : null

  function isStatement(node: Hir.Stmt): boolean {
    switch (node.kind) {
      case 'Let':
      case 'Expr':
        return isPlain(node.value)
      case 'Return':
        return isMaybe(node.value)
      default:
        return false
    }
  }

  function isPlain(node: Hir.Expr): boolean {
    switch (node.kind) {
      case 'Int':
      case 'Float':
      case 'Decimal':
      case 'Str':
      case 'Bool':
      case 'Unit':
      case 'Local':
        return true
      case 'Variant':
        // Constructors with several fields are excluded: nested values could grow exponentially.
        return node.args.length <= 1 && isEach(node.args)
      case 'Native':
        return node.native === 'null'
      case 'Call':
        return isCall(node)
      case 'CallNative':
        return NATIVES.has(node.native) && isMaybe(node.receiver) && isEach(node.args) && node.options === null
      case 'Field':
        return node.object.kind === 'Request' ? node.name === 'user' : isPlain(node.object)
      case 'Try':
      case 'Unary':
        return isPlain(node.operand)
      case 'Convert':
        return node.conversion !== 'checked' && isPlain(node.operand)
      case 'Binary':
        return OPERATORS.has(node.operator) && isPlain(node.left) && isPlain(node.right)
      case 'Logical':
        return isPlain(node.left) && isPlain(node.right)
      case 'Block':
        return isBlock(node.block)
      case 'If':
        return isPlain(node.condition) && isBlock(node.then) && (node.otherwise === null || isBlock(node.otherwise))
      case 'Match':
        return isPlain(node.subject) && node.arms.every(({ guard, body }) => isMaybe(guard) && isPlain(body))
      case 'Db':
        return isLookup(node)
      default:
        return false
    }
  }

  function isCall({ name, args, options }: Hir.Call): boolean {
    if (options !== null || !isEach(args)) return false
    const called = statementsOf(name)
    statements += called ?? 0
    return called !== null
  }

  /** True if an operation finds at most one row, by its id. Counts it as a statement. */
  function isLookup({ plan, args, limit, offset, page }: Hir.Db): boolean {
    const { op, predicate, capabilities, includes } = plan
    const isById = op === 'Get' || ((op === 'FilterRecord' || op === 'Count') && predicate !== null && hasId(predicate))
    const { requires_sync, emits_change_log, live_topic, retrieval_mode, orchestration_scope } = capabilities
    const isMore =
      requires_sync ||
      emits_change_log ||
      (live_topic ?? retrieval_mode ?? orchestration_scope) !== null ||
      includes !== undefined ||
      (page ?? offset) !== null
    statements++
    return isById && !isMore && isEach(args.map(({ value }) => value)) && isMaybe(limit)
  }
}

/** True if a condition can match only the row of one id, with simple comparisons. */
function hasId(predicate: HirPredicate): boolean {
  if ('Eq' in predicate) return predicate.Eq.field === '_id'
  if (!('And' in predicate)) return false
  const compares = (each: HirPredicate): boolean => !['And', 'Or', 'Not', 'In'].some(key => Object.hasOwn(each, key))
  return predicate.And.every(compares) && predicate.And.some(hasId)
}
