import type { JsonSchema } from '@svc/plugin-sdk'

/** Message of the validator for an unknown argument, which it does not name. */
const NAMELESS = 'data must NOT have additional properties'

/** Adds the unknown and the known argument names to the validator's message. */
export function nameUnknown(problem: string, schema: JsonSchema, args: Readonly<Record<string, unknown>>): string {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, unknown>> }
  const unknown = Object.keys(args).filter(name => !Object.hasOwn(properties, name))
  if (!problem.includes(NAMELESS) || unknown.length === 0) return problem
  const known = Object.keys(properties).join(', ')
  const named = `unknown ${unknown.map(name => JSON.stringify(name)).join(', ')}; known: ${known || 'none'}`
  const others = problem.split(', ').filter(each => each !== NAMELESS)
  return [...others, named].join('; ')
}
