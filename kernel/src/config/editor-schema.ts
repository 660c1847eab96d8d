import type { JsonSchema } from '@svc/plugin-sdk'
import { policySchema } from '../host/kernel-settings.ts'
import { isTable } from './layers.ts'
import { type ConfigurablePlugin, register } from './registry.ts'
import { propertiesOf } from './schema.ts'

/** JSON Schema of `svc.toml` for editors. Nothing is required in it, since values may come from another layer. */
export function configSchema(plugins: readonly ConfigurablePlugin[]): Record<string, unknown> {
  const { kernel, plugins: registered, sections } = register(plugins)
  const table = (properties: object): object => ({ type: 'object', properties, additionalProperties: false })
  const policy = propertiesOf(relaxed(policySchema))
  const own = registered.map(({ plugin, owner }) => {
    const schema = relaxed(owner.schema)
    // With an id of its own, references inside a plugin's schema stay inside it.
    return [
      plugin.name,
      { $id: `svc:plugins/${plugin.name}`, ...schema, properties: { ...propertiesOf(schema), ...policy } }
    ]
  })
  const extra = registered.flatMap(({ plugin, owner }) =>
    owner.prefix[0] !== undefined && sections.get(owner.prefix[0]) === plugin.name
      ? [[owner.prefix[0], { $id: `svc:sections/${owner.prefix[0]}`, ...relaxed(owner.schema) }]]
      : []
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'svc.toml',
    ...table({
      kernel: relaxed(kernel.schema),
      plugins: { ...table(Object.fromEntries(own)), additionalProperties: { type: 'object' } },
      ...Object.fromEntries(extra)
    })
  }
}

function relaxed(schema: JsonSchema): JsonSchema {
  const { required: _required, ...rest } = schema
  if (!isTable(schema.properties)) return rest
  const properties = Object.entries(propertiesOf(schema)).map(([key, property]) => [key, relaxed(property)])
  return { ...rest, properties: Object.fromEntries(properties) }
}
