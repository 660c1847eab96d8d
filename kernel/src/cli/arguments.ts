import type { JsonSchema } from '@svc/plugin-sdk'
import type { Argv, Options, PositionalOptions } from 'yargs'

interface CommandShape {
  readonly command: string
  readonly input: JsonSchema
  readonly args?: readonly string[]
  readonly aliases?: Readonly<Record<string, string>>
}

type Property = JsonSchema & {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly string[]
}

/** yargs' command string: `config list [prefix]`, `plugins enable <names..>`. */
export function commandString(shape: CommandShape): string {
  const required = new Set((shape.input.required as readonly string[] | undefined) ?? [])
  const words = (shape.args ?? []).map(name => {
    const label = `${kebab(name)}${propertyOf(shape, name).type === 'array' ? '..' : ''}`
    return required.has(name) ? `<${label}>` : `[${label}]`
  })
  return [shape.command.split(' ').at(-1), ...words].join(' ')
}

/** Flags and positionals of an input schema. Values stay strings where the schema is not a plain type: JSON then. */
export function describeArguments(yargs: Argv, shape: CommandShape): Argv {
  const positional = new Set(shape.args ?? [])
  const required = new Set((shape.input.required as readonly string[] | undefined) ?? [])
  for (const name of Object.keys((shape.input.properties as object | undefined) ?? {})) {
    const property = propertyOf(shape, name)
    const base = {
      ...(property.description === undefined ? {} : { describe: property.description }),
      ...(property.enum === undefined ? {} : { choices: property.enum }),
      ...yargsType(property)
    }
    if (positional.has(name)) yargs.positional(kebab(name), base as PositionalOptions)
    else {
      const alias = shape.aliases?.[name]
      yargs.option(kebab(name), {
        ...base,
        ...(alias === undefined ? {} : { alias }),
        ...(required.has(name) ? { demandOption: true } : {}),
        // The default belongs to the schema; repeating it here would hide that the flag was not given.
        ...(property.default === undefined ? {} : { defaultDescription: JSON.stringify(property.default) })
      } as Options)
    }
  }
  return yargs
}

/** The operation's input out of parsed arguments; absent flags stay absent. */
export function collectInput(shape: CommandShape, argv: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const name of Object.keys((shape.input.properties as object | undefined) ?? {})) {
    const value = argv[kebab(name)]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    const { type } = propertyOf(shape, name)
    input[name] = typeof value === 'string' && type !== 'string' && type !== undefined ? parseJson(value) : value
  }
  return input
}

function propertyOf(shape: CommandShape, name: string): Property {
  return ((shape.input.properties as Record<string, Property> | undefined)?.[name] ?? {}) as Property
}

function yargsType(property: Property): Partial<Options> {
  switch (property.type) {
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
    case 'number':
      return { type: 'number', requiresArg: true }
    case 'array':
      return { type: 'array', string: true }
    default:
      return { type: 'string', requiresArg: true }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`).replaceAll('_', '-')
}
