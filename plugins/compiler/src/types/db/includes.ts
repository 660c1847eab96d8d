import type { HirInclude } from '@svc/contracts'
import type { Call } from '../../syntax/ast-expressions.ts'
import type { Name } from '../../syntax/node.ts'
import type { ChainArguments } from './chain-arguments.ts'

/**
 * Reads `include("author")`: the row that the column `author` or `author_id` refers to. The first replaces the id of
 * the column, the second adds a member. Returns null if there is no such reference.
 */
export function readInclude(call: Call, name: Name, args: ChainArguments): HirInclude | null {
  const text = args.text(call, name)
  const { columns } = args
  if (text === null || columns === undefined) return null
  const at = call.args[0]?.value ?? name
  const isReference = (field: string): boolean => (columns.facts(field)?.references ?? null) !== null
  if (text.endsWith('_id') && isReference(text)) {
    const member = text.slice(0, -'_id'.length)
    args.problem(`\`include\` names the referenced row, not its id`, at, [`write \`include("${member}")\``])
    return null
  }
  const field = isReference(text) ? text : `${text}_id`
  if (isReference(field)) return { name: text, field, table: columns.facts(field)?.references as string }
  if (columns.indexOf(text) === undefined) args.column(text, at)
  else args.typeProblem(`the column \`${text}\` refers to no row`, at, ['its type must be `Id[Table]`'])
  return null
}
