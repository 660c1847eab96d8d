import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../../syntax/ast.ts'
import type { Call, Identifier } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { isDbMember } from '../../types/db/chain.ts'
import type { BodyPosition, BodyRule, Meaning } from '../names/body-rule.ts'

interface RawSql {
  readonly call: Call
  /** Names of the ruled tables that the SQL may reach. */
  readonly tables: readonly string[]
}

/** Roles of functions that callers reach. */
const ENDPOINTS: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

/** Reports raw SQL that reaches a table with row rules, in functions that an endpoint calls: it would ignore the rules. */
export class RuleBypassRule implements BodyRule {
  readonly #ruled: readonly string[]
  readonly #raw = new Map<Declaration, RawSql[]>()
  /** Functions that each declaration mentions; a function that is passed as a value may be called. */
  readonly #callees = new Map<Declaration, Set<Declaration>>()

  constructor({ items }: Module) {
    this.#ruled = items.flatMap(item => {
      return item.kind === 'Table' && item.decorators.some(({ name }) => name.text === 'rule') ? [item.name.text] : []
    })
  }

  call(call: Call, _piped: 0 | 1, { item }: BodyPosition): void {
    const { callee, args } = call
    if (this.#ruled.length === 0 || callee.kind !== 'Member' || callee.property.text !== 'query') return
    if (!isDbMember(callee) && !isDbMember(callee.object)) return
    const [first] = args
    const sql = first === undefined ? undefined : bare(first.value)
    // SQL that is computed may reach every table.
    const tables = sql?.kind === 'String' ? this.#ruled.filter(table => mentions(sql.value, table)) : this.#ruled
    if (tables.length === 0) return
    this.#raw.set(item, [...(this.#raw.get(item) ?? []), { call, tables }])
  }

  identifier(_node: Identifier, meaning: Meaning, { item }: BodyPosition): void {
    if (this.#ruled.length === 0 || meaning?.kind !== 'module' || meaning.entry.kind !== 'function') return
    const { declaration } = meaning.entry
    this.#callees.set(item, (this.#callees.get(item) ?? new Set()).add(declaration))
  }

  /** Returns the diagnostics. Call it after the walk. */
  result(items: readonly Declaration[]): Diagnostic[] {
    if (this.#raw.size === 0) return []
    const reported = new Set<Call>()
    return items.filter(isEndpoint).flatMap(endpoint =>
      [...this.#reachedFrom(endpoint)].flatMap(declaration =>
        (this.#raw.get(declaration) ?? []).flatMap(({ call, tables }) => {
          if (reported.has(call)) return []
          reported.add(call)
          const names = tables.map(table => `\`${table}\``).join(', ')
          const at = endpoint.kind === 'HttpRoute' ? endpoint.path : 'name' in endpoint ? endpoint.name : null
          return diagnostic('auth.rule_bypass', `raw SQL ignores the row rules of ${names}`, call, {
            suggestions: ['write `filter`, `where`, `all` or `get`, which apply the rules'],
            ...(at === null || !('start' in at)
              ? {}
              : { related: [{ span: at, message: 'callers reach it from here' }] })
          })
        })
      )
    )
  }

  #reachedFrom(endpoint: Declaration): Set<Declaration> {
    const seen = new Set([endpoint])
    // The set grows during the walk.
    for (const each of seen) for (const callee of this.#callees.get(each) ?? []) seen.add(callee)
    return seen
  }
}

function isEndpoint(item: Declaration): boolean {
  return item.kind === 'HttpRoute' || (item.kind === 'Function' && ENDPOINTS.has(item.role))
}

/** True if SQL names a table, or its table for full-text search. */
function mentions(sql: string, table: string): boolean {
  return new RegExp(`(?<!\\w)${table}(?:_fts\\w*)?(?!\\w)`, 'i').test(sql)
}
