import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Call, Expression, Identifier, Member } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import { COLUMN_MODIFIERS, DB_HEADS, isDbMember, readDbChain, tableOf } from '../../types/db/chain.ts'
import type { DbTables } from '../../types/db/db-tables.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'

/** Maximum number of findings with a "did you mean" suggestion. */
const MAX_SUGGESTIONS = 100

/** Checks uses of `db`: tables, columns, chains and raw SQL. */
export class DbRule implements BodyRule {
  readonly found: Diagnostic[] = []
  readonly #tables: DbTables
  /** Calls already checked as part of a chain, and members already checked with their call. */
  readonly #read = new Set<Expression>()

  constructor(tables: DbTables) {
    this.#tables = tables
  }

  identifier(node: Identifier, _meaning: Meaning, _place: BodyPosition): void {
    if (node.name !== 'db') return
    this.found.push(
      diagnostic('typecheck.db.modifier', '`db` is not a value', node, {
        suggestions: ['write `db.Table.all()`']
      })
    )
  }

  call(call: Call, _piped: 0 | 1, position: BodyPosition): void {
    if (this.#read.has(call) || call.callee.kind !== 'Member') return
    const { object, property } = call.callee
    if (object.kind === 'Identifier' && object.name === 'db' && property.text === 'query') {
      this.#read.add(call.callee)
      this.#rawQuery(call, position)
      return
    }
    const chain = readDbChain(call, this.#tables)
    if (chain === null) {
      if (isDbMember(object) && !DB_HEADS.includes(property.text)) this.#unknownMethod(object, call.callee)
      return
    }
    this.found.push(...chain.problems)
    for (const each of chain.calls) {
      this.#read.add(each)
      if (each.callee.kind === 'Member' && COLUMN_MODIFIERS.has(each.callee.property.text))
        ignoreColumns(each, position)
    }
    const first = chain.calls.at(-1)
    if (first?.callee.kind === 'Member') this.#table(first.callee.object)
    if (chain.operation.op === 'UnsafeQueryRawClause') this.#unsafe(call, 'error')
  }

  member(node: Member, _place: BodyPosition): void {
    if (!isDbMember(node) || this.#read.has(node)) return
    if (!this.#table(node)) return
    this.found.push(
      diagnostic('typecheck.db.modifier', `\`db.${node.property.text}\` is not a value`, node, {
        suggestions: [`call one of ${DB_HEADS.map(head => `\`${head}\``).join(', ')}`]
      })
    )
  }

  /** Reports an undeclared table; true if the table is declared. */
  #table(expression: Expression): boolean {
    this.#read.add(expression)
    const table = tableOf(expression)
    if (table === null || this.#tables.has(table.text)) return true
    const near = this.found.length < MAX_SUGGESTIONS ? this.#nearTable(table.text) : undefined
    this.found.push(
      diagnostic('typecheck.db.unknown_table', `there is no table \`${table.text}\``, table, {
        suggestions: [`declare it: \`@table type ${table.text} { … }\``],
        ...spellingFix(near, table)
      })
    )
    return false
  }

  #nearTable(table: string): string | undefined {
    const known = [...this.#tables.keys()]
    return nearName(table, known) ?? known.find(name => name.toLowerCase() === table.toLowerCase())
  }

  #unknownMethod(object: Member, { property }: Member): void {
    if (!this.#table(object)) return
    const near = nearName(property.text, DB_HEADS)
    this.found.push(
      diagnostic('typecheck.unknown_method', `a table has no method \`${property.text}\``, property, {
        suggestions: [`tables have ${DB_HEADS.map(head => `\`${head}\``).join(', ')}`],
        ...spellingFix(near, property)
      })
    )
  }

  #rawQuery(call: Call, position: BodyPosition): void {
    const [first] = call.args
    const bareValue = first === undefined ? undefined : bare(first.value)
    if (bareValue?.kind !== 'Identifier' || !this.#tables.has(bareValue.name)) {
      this.#unsafe(call, 'warning')
      return
    }
    position.ignore(bareValue)
    this.found.push(
      diagnostic('typecheck.db.deprecated_query', `\`db.query(${bareValue.name})\` is no longer supported`, call, {
        fixes: [{ label: `write db.${bareValue.name}.all()`, span: call, replacement: `db.${bareValue.name}.all()` }]
      })
    )
  }

  #unsafe(call: Call, severity: 'error' | 'warning'): void {
    this.found.push(
      diagnostic('lint.db_unsafe_query', 'raw SQL is neither checked nor portable', call, {
        severity,
        suggestions: [
          severity === 'error'
            ? 'write `filter`, `where`, `all` or `get`, or `db.query(sql, [parameters])` if only SQL can express it'
            : 'write `filter`, `where`, `all` or `get`'
        ]
      })
    )
  }
}

function ignoreColumns(call: Call, position: BodyPosition): void {
  for (const { value } of call.args) {
    const bareValue = bare(value)
    if (bareValue.kind === 'Identifier') position.ignore(bareValue)
    if (bareValue.kind === 'List')
      for (const item of bareValue.items) if (item.kind === 'Identifier') position.ignore(item)
  }
}
