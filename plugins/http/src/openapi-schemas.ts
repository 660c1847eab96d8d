import type { JsonSchema } from '@svc/plugin-sdk'

/**
 * Schemas of one OpenAPI document. The `$defs` of an operation's schema are moved to the document's components,
 * prefixed with the operation's name: few tools resolve references relative to an `$id`.
 */
export class SchemaBook {
  readonly components: Record<string, JsonSchema> = {}

  /** Returns a schema, which is `root` or a part of it, with references that are valid in the document. */
  place(schema: JsonSchema, root: JsonSchema, name: string): JsonSchema {
    if (!JSON.stringify(schema).includes('"$ref":"#')) return schema
    const definitions = (root.$defs ?? {}) as Readonly<Record<string, JsonSchema>>
    for (const [key, definition] of Object.entries(definitions)) {
      this.#add(`${name}.${key.replace(/[^\w.-]/g, '_')}`, definition, name)
    }
    if (JSON.stringify(root).includes('"$ref":"#"')) this.#add(name, root, name)
    return rewrite(schema, name) as JsonSchema
  }

  #add(key: string, schema: JsonSchema, name: string): void {
    this.components[key] ??= rewrite(schema, name) as JsonSchema
  }
}

function rewrite(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map(each => rewrite(each, name))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== '$defs')
  return Object.fromEntries(
    entries.map(([key, each]) => [key, key === '$ref' ? reference(each as string, name) : rewrite(each, name)])
  )
}

function reference(to: string, name: string): string {
  if (to === '#') return `#/components/schemas/${name}`
  const [key, ...rest] = to.startsWith('#/$defs/') ? to.slice('#/$defs/'.length).split('/') : []
  if (key === undefined) return to
  return [`#/components/schemas/${name}.${key.replace(/[^\w.-]/g, '_')}`, ...rest].join('/')
}
