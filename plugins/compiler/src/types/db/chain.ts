// toestub-ignore(arch/god_object) - one reader for the methods of a chain, which depend on each other
import type {
  HirAggregate,
  HirAggregation,
  HirDbCapabilities,
  HirDbOperator,
  HirInclude,
  HirPredicate
} from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Argument, Call, Expression, Identifier, Member } from '../../syntax/ast-expressions.ts'
import { bare, entryKey } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import { AGGREGATES, readAggregate, readAggregates } from './aggregates.ts'
import { ChainArguments } from './chain-arguments.ts'
import type { Columns } from './columns.ts'
import type { DbTables } from './db-tables.ts'
import { readInclude } from './includes.ts'
import { type DbArgument, PredicateReader } from './predicate.ts'

/** A query described by a chain of calls on a table. */
export interface DbOperation {
  readonly table: string
  readonly op: HirDbOperator
  readonly args: readonly DbArgument[]
  readonly predicate: HirPredicate | null
  readonly projection: readonly string[] | null
  readonly orderBy: readonly [column: string, ascending: boolean] | null
  readonly limit: Expression | null
  readonly offset: Expression | null
  /** Not null if the result is a `Page`. The cursor is null if it is omitted. */
  readonly page: { readonly size: Expression; readonly cursor: Expression | null } | null
  /** Not null if the operator is `Aggregate`. */
  readonly aggregation: HirAggregation | null
  readonly includes: readonly HirInclude[]
  readonly capabilities: HirDbCapabilities
}

export interface DbChain {
  readonly operation: DbOperation
  /** First call of the chain: `filter` in `db.T.filter({ … }).limit(3)`. */
  readonly head: Name
  /** Calls of the chain, from the outermost one to the one on the table. */
  readonly calls: readonly Call[]
  readonly problems: readonly Diagnostic[]
}

interface Step {
  readonly call: Call
  readonly name: Name
}

const HEADS: Readonly<Record<string, HirDbOperator>> = {
  insert: 'Insert',
  get: 'Get',
  find: 'Get',
  delete: 'Delete',
  update: 'Update',
  all: 'All',
  filter: 'FilterRecord',
  where: 'FilterRecord',
  count: 'Count',
  query: 'UnsafeQueryRawClause'
}

/** Methods that begin a chain on a table. */
export const DB_HEADS: readonly string[] = Object.keys(HEADS)

/** Methods that may follow in a chain. */
export const MODIFIERS: ReadonlySet<string> = new Set([
  'order_by',
  'limit',
  'offset',
  'page',
  'select',
  'include',
  'group_by',
  'aggregate',
  ...AGGREGATES,
  'sync',
  'using',
  'live',
  'scope'
])

/** Modifiers whose arguments may be column names without quotes. */
export const COLUMN_MODIFIERS: ReadonlySet<string> = new Set(['order_by', 'select', 'group_by', ...AGGREGATES])

const RETRIEVAL = { fts: 'Fts', search: 'Fts', vector: 'Vector', hybrid: 'Hybrid' } as const

/** Reads `db.T.head(…).modifier(…)…` from its outermost call; null for other calls. */
export function readDbChain(call: Call, tables: DbTables): DbChain | null {
  const steps: Step[] = []
  let at: Expression = call
  while (at.kind === 'Call' && at.callee.kind === 'Member') {
    const name: Name = at.callee.property
    steps.push({ call: at, name })
    at = at.callee.object
  }
  const table = tableOf(at)
  const head = steps.at(-1)
  if (table === null || head === undefined || !Object.hasOwn(HEADS, head.name.text)) return null
  const isListed = ['all', 'filter', 'where'].includes(head.name.text)
  const modifiers = steps.slice(0, -1).reverse()
  const isKnown = ({ name: { text } }: Step) => MODIFIERS.has(text) || text === 'count' || (text === 'all' && isListed)
  if (!modifiers.every(isKnown)) return null
  const reader = new ChainReader(table.text, tables.get(table.text), isListed)
  reader.head(head)
  for (const modifier of modifiers) reader.modifier(modifier)
  reader.end()
  return {
    operation: reader.operation(),
    head: head.name,
    calls: steps.map(step => step.call),
    problems: reader.problems
  }
}

/** Returns the name of the table in `db.T`; null for other expressions. */
export function tableOf(expression: Expression): Name | null {
  return isDbMember(expression) ? expression.property : null
}

export function isDbMember(expression: Expression): expression is Member & { readonly object: Identifier } {
  return expression.kind === 'Member' && expression.object.kind === 'Identifier' && expression.object.name === 'db'
}

class ChainReader {
  readonly #args: ChainArguments
  readonly #table: string
  readonly #isListed: boolean
  #op: HirDbOperator = 'All'
  #values: readonly DbArgument[] = []
  #predicate: HirPredicate | null = null
  #projection: readonly string[] | null = null
  #orderBy: readonly [string, boolean] | null = null
  /** Place of the column that the rows are ordered by. */
  #orderedAt: Expression | null = null
  #limit: Expression | null = null
  #offset: Expression | null = null
  #page: DbOperation['page'] = null
  #groups: readonly string[] | null = null
  #aggregation: HirAggregation | null = null
  readonly #includes: HirInclude[] = []
  #capabilities: HirDbCapabilities = {
    requires_sync: false,
    emits_change_log: false,
    live_topic: null,
    retrieval_mode: null,
    orchestration_scope: null
  }
  /** Names of the modifiers that were read, with their places. */
  readonly #names = new Map<string, Name>()

  constructor(table: string, columns: Columns | undefined, isListed: boolean) {
    this.#table = table
    this.#args = new ChainArguments(columns)
    this.#isListed = isListed
  }

  get problems(): Diagnostic[] {
    return this.#args.problems
  }

  operation(): DbOperation {
    return {
      table: this.#table,
      op: this.#op,
      args: this.#values,
      predicate: this.#predicate,
      projection: this.#projection,
      orderBy: this.#orderBy,
      limit: this.#limit,
      offset: this.#offset,
      page: this.#page,
      aggregation: this.#aggregation,
      includes: this.#includes,
      capabilities: this.#capabilities
    }
  }

  head({ call, name }: Step): void {
    this.#op = HEADS[name.text] as HirDbOperator
    this.#values = call.args.map(({ name: named, value }) => ({ name: named?.text ?? null, value }))
    if (name.text === 'filter' || name.text === 'where') this.#predicateOf(call, name.text)
    else if (name.text === 'find') this.#find(call)
    else if (name.text === 'insert') this.#record(call, name, 0)
    else if (name.text === 'update') {
      this.#record(call, name, 1)
      this.#args.checkArity(call, name, 2, 2)
    } else if (name.text === 'all' || name.text === 'count') this.#args.checkArity(call, name, 0, 0)
    else this.#args.checkArity(call, name, 1, name.text === 'query' ? 2 : 1)
  }

  #predicateOf(call: Call, method: 'filter' | 'where'): void {
    const reader = new PredicateReader(this.#args.columns, this.problems)
    const [argument] = call.args
    const object = argument === undefined ? undefined : bare(argument.value)
    this.#values = reader.args
    if (object?.kind !== 'Object' || call.args.length !== 1) {
      const message = `\`${method}\` takes one object literal`
      this.#args.problem(message, object ?? nameOf(call), [`write \`${method}({ column: value })\``])
      return
    }
    if (object.entries.length === 0) {
      this.#args.problem(`\`${method}\` needs at least one condition`, object, ['write `all()` for every row'])
    }
    this.#predicate = method === 'filter' ? reader.equalities(object) : reader.where(object)
  }

  /** Reads `find`. It is a deprecated synonym of `get`; older programs also use it to search. */
  #find(call: Call): void {
    const [argument] = call.args
    const kind = argument === undefined ? undefined : bare(argument.value).kind
    if (call.args.length === 1 && kind !== 'Object' && kind !== 'Lambda') return
    const at = argument?.value ?? nameOf(call)
    this.problems.push(
      diagnostic('typecheck.db.find_semantics', '`find` loads one row by its `_id`, as `get` does', at, {
        suggestions: ['write `filter({ column: value })` or `where({ … })` to look for rows']
      })
    )
  }

  /** Reads column names and values from an object literal or from named arguments. */
  #record(call: Call, name: Name, position: number): void {
    const named = call.args.flatMap(argument => (argument.name === null ? [] : [argument.name]))
    for (const column of named) this.#args.column(column.text, column)
    const argument = call.args.filter(each => each.name === null)[position]
    if (position === 0 && named.length === 0) this.#args.checkArity(call, name, 1, 1)
    const record = argument === undefined ? undefined : bare(argument.value)
    if (record?.kind !== 'Object' && record?.kind !== 'Struct') return
    for (const entry of record.entries) this.#args.column(entryKey(entry), entry.key)
  }

  modifier({ call, name }: Step): void {
    const { text } = name
    if (text === 'count') this.#readCount(call, name)
    else if (text === 'all') this.#args.checkArity(call, name, 0, 0)
    else if (text === 'sync') {
      this.#args.checkArity(call, name, 0, 0)
      this.#capabilities = { ...this.#capabilities, requires_sync: true }
    } else if (text === 'live') {
      this.#capabilities = { ...this.#capabilities, emits_change_log: true, live_topic: this.#args.text(call, name) }
    } else if (text === 'scope') {
      this.#capabilities = { ...this.#capabilities, orchestration_scope: this.#args.text(call, name) }
    } else if (text === 'include' && this.#op === 'Get') this.#include(call, name)
    else {
      if (!this.#isListed) {
        const rows = '`all`, `filter` and `where`'
        this.#args.problem(`\`${text}\` may only follow ${rows}`, name)
      } else if (this.#op === 'Count') this.#args.problem(`a count has no \`${text}\``, name)
      this.#listModifier(call, name)
      this.#names.set(text, name)
    }
  }

  #listModifier(call: Call, name: Name): void {
    switch (name.text) {
      case 'order_by':
        this.#order(call, name)
        return
      case 'limit':
        this.#args.checkArity(call, name, 1, 1)
        this.#limit = call.args[0]?.value ?? null
        return
      case 'offset':
        this.#args.checkArity(call, name, 1, 1)
        this.#offset = call.args[0]?.value ?? null
        return
      case 'page': {
        const [size, cursor] = call.args
        if (this.#args.checkArity(call, name, 1, 2) && size !== undefined)
          this.#page = { size: size.value, cursor: cursor?.value ?? null }
        return
      }
      case 'select':
        this.#select(call, name)
        return
      case 'include':
        this.#include(call, name)
        return
      case 'group_by':
        if (this.#aggregation !== null) this.#args.problem('`group_by` comes before what is computed', name)
        this.#groups = this.#args.columnsOf(call, name)
        this.#checkGroups(call)
        return
      case 'using':
        this.#using(call, name)
        return
      case 'aggregate':
        this.#aggregate(readAggregates(call, name, this.#args), false, name)
        return
      default: {
        const value = readAggregate(call, name, this.#args)
        this.#aggregate(value === null ? [] : [value], this.#groups === null, name)
      }
    }
  }

  #readCount(call: Call, name: Name): void {
    this.#args.checkArity(call, name, 0, 0)
    if (this.#groups !== null) {
      this.#aggregate([{ name: 'count', function: 'Count', field: null }], false, name)
      return
    }
    const parts = {
      order_by: this.#orderBy,
      limit: this.#limit,
      select: this.#projection,
      offset: this.#offset,
      page: this.#page,
      include: this.#includes[0] ?? null
    }
    const [other] = Object.entries(parts).find(([, part]) => part !== null) ?? []
    if (!this.#isListed) this.#args.problem('`count` may follow only `all`, `filter` and `where`', name)
    else if (other !== undefined) this.#args.problem(`a count has no \`${other}\``, name)
    else this.#op = 'Count'
  }

  #aggregate(values: readonly HirAggregate[], isScalar: boolean, name: Name): void {
    if (this.#aggregation !== null) {
      this.#args.problem('a query computes its values in one place', name, [
        'write `aggregate({ total: { sum: "a" }, rows: { count: true } })` for several values'
      ])
      return
    }
    const groups = this.#groups
    for (const { name: member } of values) {
      if (groups?.includes(member)) this.#args.problem(`the group and a value are both named \`${member}\``, name)
    }
    this.#op = 'Aggregate'
    this.#aggregation = { groups, values, isScalar }
  }

  #checkGroups(call: Call): void {
    for (const column of this.#groups ?? []) {
      const facts = this.#args.columns?.facts(column)
      if (facts === undefined || facts.scalar !== null) continue
      this.#args.typeProblem(`rows cannot be grouped by the column \`${column}\``, call, [
        'group by columns that hold a number, a text or a bool'
      ])
    }
  }

  #include(call: Call, name: Name): void {
    const include = readInclude(call, name, this.#args)
    if (include === null) return
    const isTwice = this.#includes.some(each => each.field === include.field)
    if (isTwice) this.#args.problem(`\`${include.name}\` is included twice`, name)
    else this.#includes.push(include)
  }

  #order(call: Call, name: Name): void {
    if (!this.#args.checkArity(call, name, 1, 2)) return
    const [column, direction] = call.args
    const bareColumn = column === undefined ? undefined : bare(column.value)
    const named =
      bareColumn?.kind === 'String' ? bareColumn.value : bareColumn?.kind === 'Identifier' ? bareColumn.name : null
    if (named === null || bareColumn === undefined) {
      this.#args.problem('`order_by` takes a column name', column?.value ?? name)
      return
    }
    this.#orderedAt = bareColumn
    this.#orderBy = [named, direction === undefined || this.#isAscending(direction)]
  }

  #isAscending({ value }: Argument): boolean {
    const bareValue = bare(value)
    if (bareValue.kind === 'Bool') return bareValue.value
    const word = bareValue.kind === 'String' ? bareValue.value : bareValue.kind === 'Identifier' ? bareValue.name : ''
    const lower = word.toLowerCase()
    if (lower !== 'asc' && lower !== 'desc') this.#args.problem('the order must be `"asc"` or `"desc"`', bareValue)
    return lower !== 'desc'
  }

  #select(call: Call, name: Name): void {
    if (this.#projection !== null) this.#args.problem('columns can be selected only once', name)
    const { columns } = this.#args
    const position = (column: string): number => columns?.indexOf(column) ?? Number.MAX_SAFE_INTEGER
    this.#projection = this.#args.columnsOf(call, name).sort((a, b) => position(a) - position(b))
  }

  #using(call: Call, name: Name): void {
    const mode = this.#args.text(call, name)
    if (mode === null) return
    if (!Object.hasOwn(RETRIEVAL, mode)) {
      const near = nearName(mode, Object.keys(RETRIEVAL))
      this.#args.problem(`there is no search mode \`${mode}\``, call.args[0]?.value ?? name, [
        `write "${near ?? 'fts'}": the search modes are "fts", "vector" and "hybrid"`
      ])
      return
    }
    this.#capabilities = { ...this.#capabilities, retrieval_mode: RETRIEVAL[mode as keyof typeof RETRIEVAL] }
  }

  /** Checks what needs the whole chain. */
  end(): void {
    const { columns } = this.#args
    if (this.#orderBy !== null && this.#orderedAt !== null) {
      const [column] = this.#orderBy
      if (this.#aggregation?.groups) this.#checkGroupOrder(column, this.#orderedAt)
      else this.#args.column(column, this.#orderedAt)
    }
    if (this.#aggregation !== null) {
      const refused = this.#aggregation.groups === null ? ['order_by', 'limit', 'offset'] : []
      this.#refuse('an aggregate', [...refused, 'page', 'select', 'include'])
    } else if (this.#groups !== null) {
      this.#args.problem('`group_by` needs a value to compute', this.#names.get('group_by') as Name, [
        'add `.count()`, `.sum("column")` or `.aggregate({ … })`'
      ])
    }
    if (this.#page !== null) this.#refuse('a page', ['limit', 'offset', 'using'])
    else if (this.#offset !== null) this.#refuse('an offset', ['using'])
    for (const { name, field } of this.#includes) {
      if (name === field || columns?.indexOf(name) === undefined) continue
      const at = this.#names.get('include')
      if (at !== undefined) this.#args.problem(`the table has a column \`${name}\`, so it cannot be included`, at)
    }
  }

  #checkGroupOrder(name: string, at: Expression): void {
    const { groups, values } = this.#aggregation as HirAggregation
    const names = [...(groups ?? []), ...values.map(each => each.name)]
    if (names.includes(name)) return
    const known = names.map(each => `\`${each}\``).join(', ')
    this.#args.problem(`the groups have no \`${name}\``, at, [`order them by ${known}`])
  }

  #refuse(what: string, modifiers: readonly string[]): void {
    for (const modifier of modifiers) {
      const name = this.#names.get(modifier)
      if (name !== undefined) this.#args.problem(`${what} has no \`${modifier}\``, name)
    }
  }
}

function nameOf({ callee }: Call): Name | Expression {
  return callee.kind === 'Member' ? callee.property : callee
}
