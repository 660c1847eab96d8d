import type { McpToolCalledEvent } from '@svc/contracts'
import type { ToolEntry } from './tool.ts'

type Schema = Readonly<Record<string, unknown>>

/** Returns the event for the reward component after a call. Arguments that the tool declares as secret are left out. */
export function calledEvent(
  { name, unit, listing }: ToolEntry,
  args: Readonly<Record<string, unknown>>
): McpToolCalledEvent {
  return {
    type: 'mcp_tool_called',
    tool: name,
    plugin: unit.name,
    arguments: withoutSecrets(args, listing.inputSchema) as Readonly<Record<string, unknown>>
  }
}

function withoutSecrets(value: unknown, schema: Schema | undefined): unknown {
  if (schema === undefined) return value
  if (Array.isArray(value)) return value.map(each => withoutSecrets(each, schema.items as Schema | undefined))
  if (typeof value !== 'object' || value === null) return value
  const fields = (schema.properties ?? {}) as Readonly<Record<string, Schema>>
  const others = typeof schema.additionalProperties === 'object' ? (schema.additionalProperties as Schema) : undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => (fields[key] ?? others)?.['x-secret'] !== true)
      .map(([key, each]) => [key, withoutSecrets(each, fields[key] ?? others)])
  )
}
