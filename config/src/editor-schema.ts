import type { JsonSchema } from '@svc/plugin-sdk'
import { aliasesOf } from './aliases.ts'
import { isTable } from './layers.ts'
import { propertiesOf } from './schema.ts'
import type { Registry } from './section.ts'

/**
 * Returns the JSON Schema of a configuration file, for editors. No key is required, since another layer may set it.
 * Members of `groups` that no section declares may hold any table.
 */
export function editorSchema(registry: Registry, title: string, groups: readonly string[] = []): JsonSchema {
  const tops = new Map<string, object>()
  const inner = new Map(groups.map(group => [group, new Map<string, JsonSchema>()]))
  for (const { tables, schema } of registry.sections) {
    for (const [top = '', member] of tables) {
      if (member === undefined) tops.set(top, withId(`svc:${top}`, relaxed(schema)))
      else {
        const members = inner.get(top) ?? new Map<string, JsonSchema>()
        inner.set(
          top,
          members.set(member, merged(members.get(member), withId(`svc:${top}/${member}`, relaxed(schema))))
        )
      }
    }
  }
  for (const [group, members] of inner) {
    const outer = tops.get(group) as JsonSchema | undefined
    if (outer !== undefined) {
      tops.set(group, { ...outer, properties: { ...propertiesOf(outer), ...Object.fromEntries(members) } })
      continue
    }
    tops.set(group, { ...table(Object.fromEntries(members)), additionalProperties: { type: 'object' } })
  }
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...table(Object.fromEntries(tops)) }
}

function table(properties: object): object {
  return { type: 'object', properties, additionalProperties: false }
}

/** Sets `$id`, so that references in a section's schema resolve inside that schema. */
function withId(id: string, schema: JsonSchema): JsonSchema {
  return { $id: id, ...schema }
}

/** Merges the schemas of two sections that share a table. */
function merged(first: JsonSchema | undefined, second: JsonSchema): JsonSchema {
  if (first === undefined) return second
  return { ...first, ...second, properties: { ...propertiesOf(second), ...propertiesOf(first) } }
}

function relaxed(schema: JsonSchema): JsonSchema {
  const { required: _required, ...rest } = schema
  if (!isTable(schema.properties)) return rest
  const properties = Object.entries(propertiesOf(schema)).flatMap(([key, property]) => {
    const own = relaxed(property)
    const aliases = aliasesOf(property).map(alias => [alias, { ...own, deprecated: true }])
    return [[key, own], ...aliases]
  })
  return { ...rest, properties: Object.fromEntries(properties) }
}
