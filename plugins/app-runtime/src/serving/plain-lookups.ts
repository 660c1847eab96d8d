import type {
  HirBlock,
  HirDbTableOp,
  HirExpression,
  HirFunction,
  HirModule,
  HirParam,
  HirPattern,
  HirPredicate,
  HirStatement,
  HirType,
  Program
} from '@svc/contracts'
import { BUILTINS } from '../interpreter/builtins.ts'

/** Queries of a program that only fetch rows by id, and so always end soon. */
export interface PlainLookups {
  /** Maximum database statements of each query, by query name. */
  readonly queries: ReadonlyMap<string, number>
  /** The program, reduced to the parts that those queries need. */
  readonly program: Program
}

/** Maximum statements of a query. */
const MAX_STATEMENTS = 8

/** Builtin functions without effects, whose time is proportional to their input. */
const NATIVES: ReadonlySet<string> = new Set(['Ok', 'Error', 'Err', 'Some', 'str', 'to_string', 'len'])
const METHODS: ReadonlySet<string> = new Set(['is_some', 'is_none', 'is_ok', 'is_err', 'unwrap', 'unwrap_or'])

/** Allowed operators. `Add` may concatenate strs, whose memory the interpreter limits. */
const OPERATORS: ReadonlySet<string> = new Set(['Add', 'Is', 'Isnt', 'Lt', 'Gt', 'Lte', 'Gte', 'And', 'Or'])

/** Parameter types that need no declaration of the program. */
const TYPES: ReadonlySet<string> = new Set(['int', 'float', 'str', 'char', 'bool', 'dec'])

/**
 * Finds the queries that end soon for any input and any table: they have no loops, recursion, closures, effects or
 * composite values, and each statement finds one row by `_id`.
 */
export function plainLookups(program: Program): PlainLookups {
  const search = new LookupSearch(program)
  const queries = new Map<string, number>()
  for (const { name, params } of program.module.query_fns) {
    const statements = params.every(({ type_ann }) => isPlainType(type_ann)) ? search.statementsOf(name) : null
    if (statements !== null && statements > 0) queries.set(name, statements)
  }
  const { module } = program
  const nothing = {
    routes: [],
    actors: [],
    workflows: [],
    activities: [],
    mcp_tools: [],
    mcp_resources: [],
    agents: []
  }
  const own: HirModule = {
    ...module,
    ...nothing,
    functions: module.functions.filter(({ name }) => search.isPlain(name)),
    query_fns: module.query_fns.filter(({ name }) => search.isPlain(name)),
    mutation_fns: [],
    server_fns: []
  }
  return { queries, program: { ...program, module: own, tests: [], constants: [], conditions: [] } }
}

interface Declared {
  readonly params: readonly HirParam[]
  readonly body: HirBlock
}

/** The declarations of a program, with the analysed functions. */
class LookupSearch {
  readonly #functions = new Map<string, Declared>()
  /** Number of fields by constructor name. */
  readonly #constructors = new Map<string, number>()
  /** Names of the program that may shadow builtins. */
  readonly #others: ReadonlySet<string>
  /** Statements by function; null if it is not a lookup, or while it is analysed, which rejects recursion. */
  readonly #statements = new Map<string, number | null>()

  constructor({ module, constants, conditions }: Program) {
    const conditional = new Set(conditions.map(({ of }) => of))
    const functions = module.functions.filter(isOrdinary)
    for (const { name, params, body } of [...functions, ...module.query_fns]) {
      if (!conditional.has(name)) this.#functions.set(name, { params, body })
    }
    for (const { variants } of module.types) {
      for (const { name, fields } of variants) this.#constructors.set(name, fields.length)
    }
    const declared = [...module.functions, ...module.query_fns, ...module.mutation_fns, ...module.server_fns]
    const tools = [...module.mcp_tools, ...module.mcp_resources].map(({ func }) => func)
    const durable = [...module.workflows, ...module.activities, ...module.actors, ...module.agents]
    this.#others = new Set([
      ...[...declared, ...tools, ...durable].map(({ name }) => name),
      ...constants.flatMap(statement => ('Let' in statement ? namesOf(statement.Let.pattern) : []))
    ])
  }

  isPlain(name: string): boolean {
    return typeof this.#statements.get(name) === 'number'
  }

  /** Returns the maximum number of statements; null if the function is not a simple lookup. */
  statementsOf(name: string): number | null {
    const known = this.#statements.get(name)
    if (known !== undefined) return known
    this.#statements.set(name, null)
    const declared = this.#functions.get(name)
    if (declared === undefined) return null
    const statements = new PlainBody(this).statementsOf(declared)
    this.#statements.set(name, statements)
    return statements
  }

  /** True if the program does not declare the name. */
  isFree(name: string): boolean {
    return !this.#others.has(name) && !this.#constructors.has(name)
  }

  isValue(name: string): boolean {
    if (this.#others.has(name)) return false
    const parts = this.#constructors.get(name)
    return parts === undefined ? BUILTINS.has(name) : parts === 0
  }

  /** Returns the statements of a call, without those of its arguments; null if the callee is not simple. */
  call(name: string, args: number): number | null {
    if (this.#functions.has(name)) return this.statementsOf(name)
    if (this.#others.has(name)) return null
    // Constructors with several fields are excluded: nested values could grow exponentially.
    const parts = this.#constructors.get(name)
    return (parts === undefined ? NATIVES.has(name) : parts === 1 && args === 1) ? 0 : null
  }
}

/** Analysis of one function body. `#locals` holds the variables declared so far. */
class PlainBody {
  readonly #search: LookupSearch
  #locals: ReadonlySet<string> = new Set()
  #statements = 0

  constructor(search: LookupSearch) {
    this.#search = search
  }

  statementsOf({ params, body }: Declared): number | null {
    this.#locals = new Set(params.map(({ name }) => name))
    const isPlain = params.every(each => each.default === null || this.#is(each.default)) && this.#isBlock(body)
    return isPlain && this.#statements <= MAX_STATEMENTS ? this.#statements : null
  }

  #isBlock(statements: HirBlock): boolean {
    return this.#within(() => statements.every(statement => this.#isStatement(statement)))
  }

  #isStatement(statement: HirStatement): boolean {
    if ('Expr' in statement) return this.#is(statement.Expr.expr)
    if ('Return' in statement) return statement.Return.value === null || this.#is(statement.Return.value)
    if (!('Let' in statement)) return false
    const { pattern, value } = statement.Let
    if (!this.#is(value)) return false
    this.#declare(pattern)
    return true
  }

  #is(expression: HirExpression): boolean {
    if ('Ident' in expression) {
      const [name] = expression.Ident
      return this.#locals.has(name) || this.#search.isValue(name)
    }
    if ('DbTableOp' in expression) return this.#isLookup(expression.DbTableOp)
    if ('Call' in expression) return this.#isCall(expression.Call[0], expression.Call[1])
    if ('MethodCall' in expression) {
      const [object, method, args] = expression.MethodCall
      return METHODS.has(method) && this.#is(object) && args.every(({ value }) => this.#is(value))
    }
    if ('FieldAccess' in expression) return this.#isUser(expression) || this.#is(expression.FieldAccess[0])
    if ('Try' in expression) return this.#is(expression.Try.target)
    if ('Unary' in expression) return this.#is(expression.Unary[1])
    if ('Binary' in expression) {
      const [operator, left, right] = expression.Binary
      return OPERATORS.has(operator) && this.#is(left) && this.#is(right)
    }
    if ('Block' in expression) return this.#isBlock(expression.Block[0])
    if ('If' in expression) {
      const [condition, then, other] = expression.If
      return this.#is(condition) && this.#isBlock(then) && (other === null || this.#isBlock(other))
    }
    if ('Match' in expression) {
      const [subject, arms] = expression.Match
      return (
        this.#is(subject) &&
        arms.every(({ pattern, guard, body }) =>
          this.#within(() => {
            this.#declare(pattern)
            return (guard === null || this.#is(guard)) && this.#is(body)
          })
        )
      )
    }
    if ('TupleLit' in expression) return expression.TupleLit[0].length === 0
    return Object.keys(expression).some(form => /^(?:Int|Float|String|Bool|Decimal)Lit$/.test(form))
  }

  /** True for `request.user`, the identity of the caller. */
  #isUser(expression: HirExpression): boolean {
    if (!('FieldAccess' in expression)) return false
    const [object, member] = expression.FieldAccess
    const isRequest = 'Ident' in object && object.Ident[0] === 'request' && this.#search.isFree('request')
    return isRequest && member === 'user' && !this.#locals.has('request')
  }

  #isCall(callee: HirExpression, args: readonly { readonly value: HirExpression }[]): boolean {
    if (!('Ident' in callee) || this.#locals.has(callee.Ident[0])) return false
    if (!args.every(({ value }) => this.#is(value))) return false
    const statements = this.#search.call(callee.Ident[0], args.length)
    this.#statements += statements ?? 0
    return statements !== null
  }

  /** True if an operation finds at most one row, by its id. Counts it as a statement. */
  #isLookup({ op, args, limit, offset, page, plan }: HirDbTableOp): boolean {
    const { predicate, capabilities } = plan
    const isById = op === 'Get' || ((op === 'FilterRecord' || op === 'Count') && predicate !== null && hasId(predicate))
    const { requires_sync, emits_change_log, live_topic, retrieval_mode, orchestration_scope } = capabilities
    const isMore =
      requires_sync ||
      emits_change_log ||
      (live_topic ?? retrieval_mode ?? orchestration_scope) !== null ||
      (plan.includes ?? page ?? offset) !== undefined
    this.#statements++
    return (
      isById && !isMore && [...args.map(({ value }) => value), ...(limit ? [limit] : [])].every(each => this.#is(each))
    )
  }

  /** Runs work in a scope of variables. */
  #within(work: () => boolean): boolean {
    const before = this.#locals
    this.#locals = new Set(before)
    const result = work()
    this.#locals = before
    return result
  }

  #declare(pattern: HirPattern): void {
    this.#locals = new Set([...this.#locals, ...namesOf(pattern)])
  }
}

/** True if a condition can match only the row of one id, with simple comparisons. */
function hasId(predicate: HirPredicate): boolean {
  if ('Eq' in predicate) return predicate.Eq.field === '_id'
  if (!('And' in predicate)) return false
  const compares = ({ ...each }: HirPredicate): boolean =>
    !('And' in each || 'Or' in each || 'Not' in each || 'In' in each)
  return predicate.And.every(compares) && predicate.And.some(hasId)
}

function isOrdinary({ is_component, is_mobile_native, is_llm, postconditions }: HirFunction): boolean {
  return !is_component && !is_mobile_native && !is_llm && postconditions.length === 0
}

function isPlainType(type: HirType | null): boolean {
  if (type === null) return false
  if (typeof type === 'string') return type === 'Decimal'
  if ('Named' in type) return TYPES.has(type.Named)
  if (!('Generic' in type)) return false
  const [name, [item = null]] = type.Generic
  return name === 'Id' || (name === 'Option' && isPlainType(item))
}

function namesOf(pattern: HirPattern): string[] {
  if ('Ident' in pattern) return [pattern.Ident[0]]
  if ('Tuple' in pattern) return pattern.Tuple[0].flatMap(namesOf)
  if ('Constructor' in pattern) return pattern.Constructor[1].flatMap(namesOf)
  return 'Or' in pattern ? pattern.Or[0].flatMap(namesOf) : []
}
