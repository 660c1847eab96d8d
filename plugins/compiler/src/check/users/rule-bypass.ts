import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Call } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import type { TypedModule, Use } from '../../types/typed-module.ts'

interface RawSql {
  readonly call: Call
  /** Names of the ruled tables that the SQL may reach. */
  readonly tables: readonly string[]
}

/** Roles of functions that callers reach. */
const ENDPOINTS: ReadonlySet<string> = new Set(['query', 'mutation', 'server', 'mcp.tool', 'mcp.resource'])

/** Reports raw SQL that reaches a table with row rules, in functions that an endpoint calls: it would ignore the rules. */
export function checkRuleBypass(types: TypedModule): Diagnostic[] {
  const { items } = types.module
  const ruled = items.flatMap(item => {
    return item.kind === 'Table' && item.decorators.some(({ name }) => name.text === 'rule') ? [item.name.text] : []
  })
  if (ruled.length === 0) return []
  const reported = new Set<Call>()
  return items.filter(isEndpoint).flatMap(endpoint =>
    reachedFrom(endpoint, types).flatMap(declaration =>
      rawSqlIn(types.usesOf(declaration), ruled).flatMap(({ call, tables }) => {
        if (reported.has(call)) return []
        reported.add(call)
        const names = tables.map(table => `\`${table}\``).join(', ')
        const at = endpoint.kind === 'HttpRoute' ? endpoint.path : 'name' in endpoint ? endpoint.name : null
        return diagnostic('auth.rule_bypass', `raw SQL ignores the row rules of ${names}`, call, {
          suggestions: ['write `filter`, `where`, `all` or `get`, which apply the rules'],
          ...(at === null || !('start' in at) ? {} : { related: [{ span: at, message: 'callers reach it from here' }] })
        })
      })
    )
  )
}

/** Returns the raw SQL of a declaration that may reach tables with rules. */
function rawSqlIn(uses: readonly Use[], ruled: readonly string[]): RawSql[] {
  return uses.flatMap(use => {
    if (use.kind !== 'db' || use.access !== 'raw') return []
    const [first] = use.call.args
    const sql = first === undefined ? undefined : bare(first.value)
    // SQL that is computed may reach every table.
    const tables = sql?.kind === 'String' ? ruled.filter(table => mentions(sql.value, table)) : ruled
    return tables.length === 0 ? [] : [{ call: use.call, tables }]
  })
}

/** Returns the declarations that one reaches. A function that is passed as a value may be called. */
function reachedFrom(endpoint: Declaration, types: TypedModule): Declaration[] {
  const seen = new Set([endpoint])
  // The set grows during the walk.
  for (const each of seen) {
    for (const use of types.usesOf(each)) {
      if (use.kind === 'declaration' || use.kind === 'handler' || use.kind === 'default') seen.add(use.declaration)
    }
  }
  return [...seen]
}

function isEndpoint(item: Declaration): boolean {
  return item.kind === 'HttpRoute' || (item.kind === 'Function' && ENDPOINTS.has(item.role))
}

/** True if SQL names a table, or its table for full-text search. */
function mentions(sql: string, table: string): boolean {
  return new RegExp(`(?<!\\w)${table}(?:_fts\\w*)?(?!\\w)`, 'i').test(sql)
}
