import type { Form } from '../../syntax/ast.ts'
import type { Context } from '../context.ts'
import { conversionTo } from '../conversions.ts'
import { isCallable, meaningOf, reportUndefined } from '../resolve.ts'
import { show } from '../show.ts'
import { record, resolved, type Type } from '../type.ts'

/**
 * Compares the fields of a form with the parameters of the function that takes them: a parameter with the name of a
 * field takes its value, and others take a record of all fields.
 */
export function checkForm(context: Context, { items }: Form): void {
  const handler = items.find(item => item.kind === 'FormSubmit')?.handler
  if (handler === undefined) return
  const meaning = meaningOf(context, handler.text)
  if (meaning === null) reportUndefined(context, handler.text, handler, false)
  const declaration = meaning?.kind === 'module' ? meaning.entry.declaration : null
  if (declaration === null || !isCallable(declaration)) return
  const fields = new Map<string, Type>()
  for (const item of items)
    if (item.kind === 'FormField') fields.set(item.name.text, context.declarations.read(item.type))
  for (const { name, type, span } of context.declarations.signature(declaration).params) {
    const value = resolved(fields.get(name) ?? record(fields))
    if (conversionTo(value, resolved(type), null, true) !== false) continue
    const what = fields.has(name) ? `the field \`${name}\` does` : 'the fields of the form do'
    context.report(
      'typecheck.arg_mismatch',
      `${what} not match the type of \`${name}\` of \`${handler.text}\``,
      handler,
      {
        expectedType: show(type),
        foundType: show(value),
        related: [{ span, message: 'declared here' }]
      }
    )
  }
}
