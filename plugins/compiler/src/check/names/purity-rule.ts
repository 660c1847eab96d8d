import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration, FunctionDeclaration } from '../../syntax/ast.ts'
import type { Call, Identifier } from '../../syntax/ast-expressions.ts'
import type { Span } from '../../syntax/node.ts'
import { isDbMember, readDbChain } from '../../types/db/chain.ts'
import type { DbTables } from '../../types/db/db-tables.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'

/** A write to the database, for messages. */
interface Write {
  /** Description of the write: `inserts into Task`, `calls add_task`. */
  readonly action: string
  readonly span: Span
  /** The callee that writes; null if the function writes itself. */
  readonly through: Declaration | null
}

const WRITES = {
  Insert: 'inserts into',
  Delete: 'deletes from',
  Update: 'updates',
  UnsafeQueryRawClause: 'runs SQL on'
}

/** Reports `@query` functions that write, directly or through a callee. */
export class PurityRule implements BodyRule {
  readonly #tables: DbTables
  readonly #writes = new Map<Declaration, Write>()
  /** Callers of each function, with their first call. */
  readonly #callers = new Map<Declaration, Map<Declaration, Span>>()
  readonly #queries: FunctionDeclaration[] = []

  constructor(tables: DbTables) {
    this.#tables = tables
  }

  call(call: Call, _piped: 0 | 1, { item }: BodyPosition): void {
    if (call.callee.kind !== 'Member' || this.#writes.has(item)) return
    const { callee } = call
    if (isDbMember(callee)) {
      if (callee.property.text === 'query') this.#writes.set(item, { action: 'runs SQL', span: call, through: null })
      return
    }
    if (!isDbMember(callee.object)) return
    const operation = readDbChain(call, this.#tables)?.operation
    if (operation === undefined || !Object.hasOwn(WRITES, operation.op)) return
    const action = `${WRITES[operation.op as keyof typeof WRITES]} \`${operation.table}\``
    this.#writes.set(item, { action, span: call, through: null })
  }

  /** A function that is passed as a value may be called. */
  identifier(node: Identifier, meaning: Meaning, { item }: BodyPosition): void {
    if (meaning?.kind !== 'module') return
    const { declaration, kind } = meaning.entry
    if (kind !== 'function' || declaration === item) return
    const isMutation = declaration.kind === 'Function' && declaration.role === 'mutation'
    if (isMutation && !this.#writes.has(item)) {
      const action = `calls the mutation \`${node.name}\``
      this.#writes.set(item, { action, span: node, through: null })
    }
    const callers = this.#callers.get(declaration) ?? new Map<Declaration, Span>()
    if (!callers.has(item)) callers.set(item, node)
    this.#callers.set(declaration, callers)
  }

  /** Returns the diagnostics. Call it after the walk. */
  result(items: readonly Declaration[]): Diagnostic[] {
    this.#propagate()
    for (const item of items) if (item.kind === 'Function' && item.role === 'query') this.#queries.push(item)
    return this.#queries.flatMap(query => {
      const write = this.#writes.get(query)
      return write === undefined ? [] : this.#problem(query, write)
    })
  }

  /** Propagates writes from callees to callers. */
  #propagate(): void {
    const open = [...this.#writes.keys()]
    for (let callee = open.pop(); callee !== undefined; callee = open.pop()) {
      for (const [caller, span] of this.#callers.get(callee) ?? []) {
        if (this.#writes.has(caller)) continue
        this.#writes.set(caller, { action: `calls \`${nameOf(callee)}\``, span, through: callee })
        open.push(caller)
      }
    }
  }

  #problem(query: FunctionDeclaration, write: Write): Diagnostic {
    const related = []
    let last = write
    for (let at: Write | undefined = write; at !== undefined && related.length < 10; ) {
      related.push({ span: at.span, message: `it ${at.action} here` })
      last = at
      at = at.through === null ? undefined : this.#writes.get(at.through)
    }
    const message = `the query \`${query.name.text}\` must only read, but ${last === write ? '' : 'indirectly '}${last.action}`
    const fixes =
      query.roleDecorator === null
        ? []
        : [{ label: 'make it a mutation', span: query.roleDecorator, replacement: '@mutation' }]
    return diagnostic('lint.query_not_readonly', message, query.name, { related, fixes })
  }
}

function nameOf(item: Declaration): string {
  return 'name' in item && item.name !== null ? item.name.text : ''
}
