import type { HirDbCapabilities, HirDbOperator, HirPredicate } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Argument, Call, Expression, Identifier, Member } from '../../syntax/ast-expressions.ts'
import { bare, entryKey } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import type { Columns } from './columns.ts'
import type { DbTables } from './db-tables.ts'
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
export const MODIFIERS: ReadonlySet<string> = new Set(['order_by', 'limit', 'select', 'sync', 'using', 'live', 'scope'])

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
  readonly problems: Diagnostic[] = []
  readonly #table: string
  readonly #columns: Columns | undefined
  readonly #isListed: boolean
  #op: HirDbOperator = 'All'
  #args: readonly DbArgument[] = []
  #predicate: HirPredicate | null = null
  #projection: readonly string[] | null = null
  #orderBy: readonly [string, boolean] | null = null
  #limit: Expression | null = null
  #capabilities: HirDbCapabilities = {
    requires_sync: false,
    emits_change_log: false,
    live_topic: null,
    retrieval_mode: null,
    orchestration_scope: null
  }

  constructor(table: string, columns: Columns | undefined, isListed: boolean) {
    this.#table = table
    this.#columns = columns
    this.#isListed = isListed
  }

  operation(): DbOperation {
    return {
      table: this.#table,
      op: this.#op,
      args: this.#args,
      predicate: this.#predicate,
      projection: this.#projection,
      orderBy: this.#orderBy,
      limit: this.#limit,
      capabilities: this.#capabilities
    }
  }

  head({ call, name }: Step): void {
    this.#op = HEADS[name.text] as HirDbOperator
    this.#args = call.args.map(({ name: named, value }) => ({ name: named?.text ?? null, value }))
    if (name.text === 'filter' || name.text === 'where') this.#predicateOf(call, name.text)
    else if (name.text === 'find') this.#find(call)
    else if (name.text === 'insert') this.#record(call, name, 0)
    else if (name.text === 'update') {
      this.#record(call, name, 1)
      this.#checkArity(call, name, 2, 2)
    } else if (name.text === 'all' || name.text === 'count') this.#checkArity(call, name, 0, 0)
    else this.#checkArity(call, name, 1, name.text === 'query' ? 2 : 1)
  }

  #predicateOf(call: Call, method: 'filter' | 'where'): void {
    const reader = new PredicateReader(this.#columns, this.problems)
    const [argument] = call.args
    const object = argument === undefined ? undefined : bare(argument.value)
    this.#args = reader.args
    if (object?.kind !== 'Object' || call.args.length !== 1) {
      const message = `\`${method}\` takes one object literal`
      this.#problem(message, object ?? nameOf(call), [`write \`${method}({ column: value })\``])
      return
    }
    if (object.entries.length === 0) {
      this.#problem(`\`${method}\` needs at least one condition`, object, ['write `all()` for every row'])
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
    for (const column of named) this.#column(column.text, column)
    const argument = call.args.filter(each => each.name === null)[position]
    if (position === 0 && named.length === 0) this.#checkArity(call, name, 1, 1)
    const record = argument === undefined ? undefined : bare(argument.value)
    if (record?.kind !== 'Object' && record?.kind !== 'Struct') return
    for (const entry of record.entries) this.#column(entryKey(entry), entry.key)
  }

  modifier({ call, name }: Step): void {
    const { text } = name
    if (text === 'count') this.#readCount(call, name)
    else if (text === 'all') this.#checkArity(call, name, 0, 0)
    else if (text === 'sync') {
      this.#checkArity(call, name, 0, 0)
      this.#capabilities = { ...this.#capabilities, requires_sync: true }
    } else if (text === 'live') {
      this.#capabilities = { ...this.#capabilities, emits_change_log: true, live_topic: this.#text(call, name) }
    } else if (text === 'scope') {
      this.#capabilities = { ...this.#capabilities, orchestration_scope: this.#text(call, name) }
    } else {
      if (!this.#isListed) {
        const rows = '`all`, `filter` and `where`'
        this.#problem(`\`${text}\` may only follow ${rows}`, name)
      } else if (this.#op === 'Count') this.#problem(`a count has no \`${text}\``, name)
      if (text === 'order_by') this.#order(call, name)
      else if (text === 'limit') {
        this.#checkArity(call, name, 1, 1)
        this.#limit = call.args[0]?.value ?? null
      } else if (text === 'select') this.#select(call, name)
      else this.#using(call, name)
    }
  }

  #readCount(call: Call, name: Name): void {
    this.#checkArity(call, name, 0, 0)
    const parts = { order_by: this.#orderBy, limit: this.#limit, select: this.#projection }
    const [other] = Object.entries(parts).find(([, part]) => part !== null) ?? []
    if (!this.#isListed) this.#problem('`count` may follow only `all`, `filter` and `where`', name)
    else if (other !== undefined) this.#problem(`a count has no \`${other}\``, name)
    else this.#op = 'Count'
  }

  #order(call: Call, name: Name): void {
    if (!this.#checkArity(call, name, 1, 2)) return
    const [column, direction] = call.args
    const named = column === undefined ? null : this.#columnOf(column.value)
    if (named === null || column === undefined) {
      this.#problem('`order_by` takes a column name', column?.value ?? name)
      return
    }
    this.#orderBy = [named, direction === undefined || this.#isAscending(direction)]
  }

  #isAscending({ value }: Argument): boolean {
    const bareValue = bare(value)
    if (bareValue.kind === 'Bool') return bareValue.value
    const word = bareValue.kind === 'String' ? bareValue.value : bareValue.kind === 'Identifier' ? bareValue.name : ''
    const lower = word.toLowerCase()
    if (lower !== 'asc' && lower !== 'desc') this.#problem('the order must be `"asc"` or `"desc"`', bareValue)
    return lower !== 'desc'
  }

  #select(call: Call, name: Name): void {
    if (this.#projection !== null) this.#problem('columns can be selected only once', name)
    const [first] = call.args
    const list = first === undefined ? undefined : bare(first.value)
    const items = list?.kind === 'List' && call.args.length === 1 ? list.items : call.args.map(({ value }) => value)
    if (items.length === 0) {
      this.problems.push(
        diagnostic('typecheck.db.empty_select', '`select` names no columns', list ?? name, {
          suggestions: ['omit `select` to load all columns']
        })
      )
    }
    const columns = new Set<string>()
    for (const item of items) {
      const column = this.#columnOf(item)
      if (column === null) this.#problem('`select` takes column names', item)
      else if (columns.has(column)) {
        const message = `the column \`${column}\` is selected twice`
        this.problems.push(diagnostic('typecheck.db.duplicate_select', message, item))
      } else columns.add(column)
    }
    const position = (column: string): number => this.#columns?.indexOf(column) ?? Number.MAX_SAFE_INTEGER
    this.#projection = [...columns].sort((a, b) => position(a) - position(b))
  }

  #using(call: Call, name: Name): void {
    const mode = this.#text(call, name)
    if (mode === null) return
    if (!Object.hasOwn(RETRIEVAL, mode)) {
      const near = nearName(mode, Object.keys(RETRIEVAL))
      this.#problem(`there is no search mode \`${mode}\``, call.args[0]?.value ?? name, [
        `write "${near ?? 'fts'}": the search modes are "fts", "vector" and "hybrid"`
      ])
      return
    }
    this.#capabilities = { ...this.#capabilities, retrieval_mode: RETRIEVAL[mode as keyof typeof RETRIEVAL] }
  }

  /**
   * Returns the only argument of a modifier. It must be a string literal, since queries are planned at compile time.
   */
  #text(call: Call, name: Name): string | null {
    if (!this.#checkArity(call, name, 1, 1)) return null
    const bareValue = bare((call.args[0] as Argument).value)
    if (bareValue.kind === 'String') return bareValue.value
    this.#problem(`\`${name.text}\` takes a string literal`, bareValue)
    return null
  }

  /** Returns the column named by a string or an identifier; null for other expressions. */
  #columnOf(expression: Expression): string | null {
    const bareValue = bare(expression)
    const column =
      bareValue.kind === 'String' ? bareValue.value : bareValue.kind === 'Identifier' ? bareValue.name : null
    if (column !== null) this.#column(column, bareValue)
    return column
  }

  #column(column: string, at: Expression | Name): void {
    const problem = this.#columns?.unknown(column, at)
    if (problem !== undefined) this.problems.push(problem)
  }

  #checkArity(call: Call, name: Name, min: number, max: number): boolean {
    const { length } = call.args
    if (length >= min && length <= max) return true
    const expected = min === max ? String(min) : `${min} or ${max}`
    const message = `\`${name.text}\` takes ${expected} argument${max === 1 ? '' : 's'}, found ${length}`
    this.problems.push(diagnostic('typecheck.arity', message, call.args[max] ?? name))
    return false
  }

  #problem(message: string, at: Expression | Name, suggestions: readonly string[] = []): void {
    this.problems.push(diagnostic('typecheck.db.modifier', message, at, { suggestions }))
  }
}

function nameOf({ callee }: Call): Name | Expression {
  return callee.kind === 'Member' ? callee.property : callee
}
