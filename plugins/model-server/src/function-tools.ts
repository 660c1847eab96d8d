import type { ChatTool } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'
import { invalid } from './body-reader.ts'
import { unsupported } from './unsupported-fields.ts'

const open = { additionalProperties: true }

/** Function tool in the form of both APIs. */
export const functionTool = t.object(
  {
    type: t.optional(t.string()),
    function: t.optional(
      t.object(
        {
          name: t.string({ minLength: 1 }),
          description: t.optional(t.nullable(t.string(), { description: 'a string' })),
          parameters: t.optional(t.nullable(t.record(t.unknown()), { description: 'a JSON Schema' })),
          strict: t.optional(t.nullable(t.boolean(), { description: 'true or false' }))
        },
        open
      )
    )
  },
  open
)

export type FunctionTool = Infer<typeof functionTool>

/** Parameters schema of a function that declares none. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

/** Converts declared tools. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the field. */
export function functionTools(tools: readonly FunctionTool[]): readonly ChatTool[] {
  const names = new Set<string>()
  return tools.map((tool, at) => {
    const field = `tools[${at}]`
    const { type = 'function', function: declared } = tool
    if (type !== 'function')
      throw unsupported(`${field}.type`, `tools of type '${type}' are not supported, only functions`)
    if (declared === undefined) throw invalid(`'${field}.function' must be an object, got nothing`, `${field}.function`)
    const { name, description, parameters } = declared
    if (names.has(name)) throw invalid(`'${field}.function.name' is '${name}', the name of an earlier tool`, field)
    names.add(name)
    return {
      name,
      ...(description ? { description } : {}),
      parameters: parameters && Object.keys(parameters).length > 0 ? parameters : NOTHING
    }
  })
}

/** Returns the names of functions whose arguments must follow their schema. */
export function strictNames(tools: readonly FunctionTool[]): ReadonlySet<string> {
  return new Set(tools.flatMap(tool => (tool.function?.strict === true ? [tool.function.name] : [])))
}
