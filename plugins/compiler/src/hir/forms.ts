import type { Hir } from '@svc/contracts'
import type { Expression } from '../syntax/ast-expressions.ts'
import type { Form, FormField } from '../syntax/ast-web.ts'
import { literalOf } from './literals.ts'
import type { ModuleScope } from './module-scope.ts'

/** Lowers the fields of a form, and what happens to its input. */
export function lowerForm(form: Form, module: ModuleScope): Pick<Hir.Form, 'fields' | 'submit' | 'redirect'> {
  const { items } = form
  const types = module.typed.paramTypes(form).map(type => module.types.of(type))
  const fields = items.filter(item => item.kind === 'FormField')
  const handler = items.find(item => item.kind === 'FormSubmit')?.handler
  return {
    fields: fields.map((field, index) => lowerField(field, types[index] ?? module.types.any, module)),
    submit: handler === undefined ? null : { name: handler.text, ...module.span(handler) },
    redirect: items.find(item => item.kind === 'FormRedirect')?.path.value ?? null
  }
}

function lowerField({ name, rules }: FormField, type: Hir.Type, module: ModuleScope): Hir.FormField {
  return {
    name: name.text,
    type,
    rules: rules.map(({ name, args }) => ({ name: name.text, value: literalValue(args?.[0], module) }))
  }
}

/** Lowers a literal, also a negative number; null for other expressions. */
function literalValue(written: Expression | undefined, module: ModuleScope): Hir.Literal | null {
  if (written === undefined) return null
  const isNegative = written.kind === 'Unary' && written.operator === '-'
  const value = isNegative ? written.operand : written
  const isNumber = value.kind === 'Int' || value.kind === 'Float' || value.kind === 'Decimal'
  if (!isNumber && (isNegative || (value.kind !== 'String' && value.kind !== 'Bool'))) return null
  return literalOf({ value, isNegative }, module.types.any, module.types, module.span(written))
}
