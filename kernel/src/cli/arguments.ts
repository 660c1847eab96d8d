import { defined, type JsonSchema, parseStrictJson } from '@svc/plugin-sdk'
import type { Argv, Options, PositionalOptions } from 'yargs'
import type { CliCommand } from './commands.ts'
import { cliErrors } from './errors.ts'
import { GLOBAL_FLAGS } from './flags.ts'
import type { PlainText } from './plain-text.ts'

type Shape = Pick<CliCommand, 'command' | 'input' | 'args' | 'aliases' | 'plain'>

/** Returns a command in yargs' syntax: `list [prefix]`, `enable <names..>`. */
export function commandString(shape: Shape): string {
  const required = requiredOf(shape.input)
  const words = shape.args.map(name => {
    const label = `${flagName(name)}${typeOf(fieldOf(shape.input, name)) === 'array' ? '..' : ''}`
    return required.has(name) ? `<${label}>` : `[${label}]`
  })
  return [shape.command.split(' ').at(-1), ...words].join(' ')
}

/** Declares the positionals and flags of an input schema to yargs. */
export function describeArguments(yargs: Argv, shape: Shape): Argv {
  const required = requiredOf(shape.input)
  for (const name of fieldNames(shape.input)) {
    const field = fieldOf(shape.input, name)
    const option = describeField(field, shape.plain)
    if (shape.args.includes(name)) {
      const { requiresArg: _flagsOnly, ...positional } = option
      yargs.positional(flagName(name), positional as PositionalOptions)
    } else {
      const demandOption = required.has(name) || undefined
      yargs.option(flagName(name), defined({ ...option, alias: shape.aliases[name], demandOption }))
    }
  }
  return yargs
}

export function describeField(field: JsonSchema, plain: PlainText = text => text): Options {
  const { description, default: fallback } = field
  const form = recordForm(field)
  const texts = [description, form && `Each is ${form} or JSON.`].filter(
    part => typeof part === 'string' && part !== ''
  )
  return defined({
    ...yargsType(field),
    describe: texts.length > 0 ? plain(texts.join(' ')) : undefined,
    hidden: field['x-hidden'] === true || undefined,
    choices: choicesOf(field) as readonly string[] | undefined,
    coerce: spelled(field),
    // Only shown: with a default in yargs, an absent flag would look like a given one. The schema applies the default.
    defaultDescription: fallback === undefined ? undefined : JSON.stringify(fallback)
  })
}

/** Builds the operation's input from parsed arguments. Absent arguments stay absent. */
export function collectInput(shape: Shape, parsed: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const name of fieldNames(shape.input)) {
    const field = fieldOf(shape.input, name)
    const given = parsed[flagName(name)]
    const value = typeOf(field) !== 'array' && Array.isArray(given) ? given.at(-1) : given
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue
    input[name] = convert(name, value, field)
  }
  return input
}

/** Returns the names of a command's flags, without the global flags. */
export function ownFlags(shape: Shape): string[] {
  return fieldNames(shape.input)
    .filter(name => !shape.args.includes(name))
    .map(flagName)
}

/** Returns all flags of a command with their dashes, including global ones. For suggestions and completion. */
export function flagsOf(shape: Shape | undefined): { readonly flag: string; readonly field: JsonSchema }[] {
  const own = shape === undefined ? [] : fieldNames(shape.input).filter(name => !shape.args.includes(name))
  return [
    ...own.map(name => ({ flag: `--${flagName(name)}`, field: fieldOf(shape?.input ?? {}, name) })),
    ...Object.entries(GLOBAL_FLAGS).map(([name, field]) => ({ flag: `--${name}`, field })),
    { flag: '--help', field: { type: 'boolean', description: 'Show help' } }
  ]
}

export function fieldOf(input: JsonSchema, name: string): JsonSchema {
  return (input.properties as Readonly<Record<string, JsonSchema>> | undefined)?.[name] ?? {}
}

/** Returns the values of an enum. Of words that differ only in case, only the first is returned. */
export function choicesOf(field: JsonSchema): readonly unknown[] | undefined {
  if (!Array.isArray(field.enum)) return undefined
  const choices: readonly unknown[] = field.enum
  const keys = choices.map(keyOf)
  return choices.filter((_, index) => keys.indexOf(keys[index]) === index)
}

function keyOf(choice: unknown): unknown {
  return typeof choice === 'string' ? choice.toLowerCase() : choice
}

/** Replaces other spellings of a choice by the one that {@link choicesOf} returns, since yargs compares exactly. */
function spelled(field: JsonSchema): ((given: unknown) => unknown) | undefined {
  const all: readonly unknown[] = Array.isArray(field.enum) ? field.enum : []
  const choices = choicesOf(field) ?? []
  if (all.length === choices.length) return undefined
  const one = (given: unknown): unknown =>
    all.includes(given) ? choices.find(choice => keyOf(choice) === keyOf(given)) : given
  return given => (Array.isArray(given) ? given.map(one) : one(given))
}

/** Returns the type of a field, ignoring `null`. Undefined for a union of several types. */
export function typeOf(field: JsonSchema): string | undefined {
  if (typeof field.type === 'string') return field.type
  const branches = (Array.isArray(field.anyOf) ? (field.anyOf as JsonSchema[]) : []).filter(
    each => each.type !== 'null'
  )
  return branches.length === 1 ? typeOf(branches[0] ?? {}) : undefined
}

function fieldNames(input: JsonSchema): string[] {
  return Object.keys((input.properties as object | undefined) ?? {})
}

export function requiredOf(input: JsonSchema): ReadonlySet<string> {
  return new Set((input.required as readonly string[] | undefined) ?? [])
}

/**
 * Returns the flag name of a field. A field with the name of a global flag gets the prefix `input-`; a field `version`
 * replaces the flag of that name.
 */
export function flagName(name: string): string {
  const kebab = name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`).replaceAll('_', '-')
  return kebab in GLOBAL_FLAGS || kebab === 'help' ? `input-${kebab}` : kebab
}

function yargsType(field: JsonSchema): Options {
  switch (typeOf(field)) {
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
    case 'number':
      return { type: 'number', requiresArg: true }
    case 'array':
      return { type: 'array', string: true, requiresArg: true }
    default:
      return { type: 'string', requiresArg: true }
  }
}

/**
 * Converts an argument to the type of its field. A string for an object, union or array item is parsed as JSON if
 * valid.
 */
function convert(name: string, value: unknown, field: JsonSchema): unknown {
  const type = typeOf(field)
  if (typeof value === 'number' && Number.isNaN(value)) {
    const message = `--${flagName(name)} must be a number`
    throw cliErrors.create('CLI_ARGUMENT_INVALID', message, { at: { path: name } })
  }
  if (Array.isArray(value)) {
    const items = (field.items ?? {}) as JsonSchema
    if (typeOf(items) === 'object') return value.flatMap(item => recordsOf(String(item), items))
    return value.map(item => convert(name, typeof item === 'number' ? String(item) : item, items))
  }
  if (typeof value !== 'string' || type === 'string') return value
  if ((type === undefined && field.enum !== undefined) || type === 'boolean') return value
  return parseJson(value)
}

/**
 * Parses an argument for a list of objects: `key=value,key=value` or JSON, of one object or of the whole list. Any other text
 * sets the only required field, if that is a string and all others have defaults.
 */
function recordsOf(text: string, items: JsonSchema): unknown[] {
  const value = parseJson(text)
  const plain = plainField(items)
  if (typeof value !== 'string') {
    if (plain !== undefined && (typeof value !== 'object' || value === null)) return [{ [plain]: text }]
    return Array.isArray(value) ? value : [value]
  }
  const pairs = value.split(',').map(pair => /^(\w+)=(.*)$/s.exec(pair))
  const known = fieldNames(items)
  const isRecord = pairs.every(pair => pair !== null && (plain === undefined || known.includes(pair[1] ?? '')))
  if (!isRecord) return [plain === undefined ? value : { [plain]: value }]
  return [
    Object.fromEntries(
      pairs.map(pair => [pair?.[1], convert(pair?.[1] ?? '', pair?.[2], fieldOf(items, pair?.[1] ?? ''))])
    )
  ]
}

/** Returns the forms of an object in a list, such as `path=…,access=read|write`. Undefined for other fields. */
function recordForm(field: JsonSchema): string | undefined {
  const items = (field.items ?? {}) as JsonSchema
  if (typeOf(field) !== 'array' || typeOf(items) !== 'object') return undefined
  const required = requiredOf(items)
  const plain = plainField(items)
  const names = fieldNames(items).filter(name => plain !== undefined || required.has(name))
  const record = names.map(name => `${name}=${choicesOf(fieldOf(items, name))?.join('|') ?? '…'}`).join(',')
  return plain === undefined ? record : `a ${plain}, ${record}`
}

/** Returns the field that a plain word sets: the only required one, if it is a string and all others have defaults. */
function plainField(items: JsonSchema): string | undefined {
  const [name, ...others] = requiredOf(items)
  if (name === undefined || others.length > 0 || typeOf(fieldOf(items, name)) !== 'string') return undefined
  return fieldNames(items).every(each => each === name || fieldOf(items, each).default !== undefined) ? name : undefined
}

function parseJson(text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch {
    return text
  }
}
