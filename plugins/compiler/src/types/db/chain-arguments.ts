import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Argument, Call, Expression } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import type { Name } from '../../syntax/node.ts'
import type { Columns } from './columns.ts'

/** Reads the arguments of the calls in a chain on a table, and collects their problems. */
export class ChainArguments {
  readonly problems: Diagnostic[] = []
  readonly columns: Columns | undefined

  /** If `columns` is undefined, since the table is unknown, column names are not checked. */
  constructor(columns: Columns | undefined) {
    this.columns = columns
  }

  /**
   * Returns the only argument of a modifier. It must be a string literal, since queries are planned at compile time.
   */
  text(call: Call, name: Name): string | null {
    if (!this.checkArity(call, name, 1, 1)) return null
    const bareValue = bare((call.args[0] as Argument).value)
    if (bareValue.kind === 'String') return bareValue.value
    this.problem(`\`${name.text}\` takes a string literal`, bareValue)
    return null
  }

  /** Returns the column named by a string or an identifier; null for other expressions. */
  columnOf(expression: Expression): string | null {
    const bareValue = bare(expression)
    const column =
      bareValue.kind === 'String' ? bareValue.value : bareValue.kind === 'Identifier' ? bareValue.name : null
    if (column !== null) this.column(column, bareValue)
    return column
  }

  /** Returns the different columns that a call names, as arguments or in one list. */
  columnsOf(call: Call, name: Name): string[] {
    const [first] = call.args
    const list = first === undefined ? undefined : bare(first.value)
    const items = list?.kind === 'List' && call.args.length === 1 ? list.items : call.args.map(({ value }) => value)
    if (items.length === 0) {
      this.problems.push(
        diagnostic('typecheck.db.empty_select', `\`${name.text}\` names no columns`, list ?? name, {
          suggestions: [
            name.text === 'select' ? 'omit `select` to load all columns' : `name a column: \`${name.text}("a")\``
          ]
        })
      )
    }
    const columns = new Set<string>()
    for (const item of items) {
      const column = this.columnOf(item)
      if (column === null) this.problem(`\`${name.text}\` takes column names`, item)
      else if (columns.has(column)) {
        const message = `the column \`${column}\` is ${name.text === 'select' ? 'selected' : 'named'} twice`
        this.problems.push(diagnostic('typecheck.db.duplicate_select', message, item))
      } else columns.add(column)
    }
    return [...columns]
  }

  column(column: string, at: Expression | Name): void {
    const problem = this.columns?.unknown(column, at)
    if (problem !== undefined) this.problems.push(problem)
  }

  checkArity(call: Call, name: Name, min: number, max: number): boolean {
    const { length } = call.args
    if (length >= min && length <= max) return true
    const expected = min === max ? String(min) : `${min} or ${max}`
    const message = `\`${name.text}\` takes ${expected} argument${max === 1 ? '' : 's'}, found ${length}`
    this.problems.push(diagnostic('typecheck.arity', message, call.args[max] ?? name))
    return false
  }

  problem(message: string, at: Expression | Name, suggestions: readonly string[] = []): void {
    this.problems.push(diagnostic('typecheck.db.modifier', message, at, { suggestions }))
  }

  typeProblem(message: string, at: Expression | Name, suggestions: readonly string[] = []): void {
    this.problems.push(diagnostic('typecheck.db.type', message, at, { suggestions }))
  }
}
