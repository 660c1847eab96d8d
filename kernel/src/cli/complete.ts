import { keyText } from '@svc/config/sources'
import { type JsonSchema, rpcMethodNames } from '@svc/plugin-sdk'
import type { PluginCatalog } from '../host/catalog.ts'
import { declarePlugins } from '../host/sections.ts'
import { choicesOf, fieldOf, flagsOf, typeOf } from './arguments.ts'
import { aboutGroup, type CommandNode, walk } from './commands.ts'
import { EXIT } from './exit-codes.ts'
import { commandWords } from './flags.ts'

interface Candidate {
  readonly value: string
  readonly about: string
}

/**
 * Prints completions for a shell script. Arguments: `INDEX WORD…`; the word at INDEX is under the cursor. Prints one
 * candidate, a tab and its explanation per line; nothing if the shell should complete file names.
 */
export function complete(args: readonly string[], root: CommandNode, catalog: PluginCatalog): number {
  const [index = '0', ...words] = args
  const current = words[Number(index)] ?? ''
  const before = words.slice(1, Number(index))
  const found = candidates(before, current, root, catalog)
  process.stdout.write(found.map(({ value, about }) => `${value}\t${about.replaceAll('\n', ' ')}\n`).join(''))
  return EXIT.ok
}

/** Returns the candidates for the word after `before` that start with `current`. */
export function candidates(
  before: readonly string[],
  current: string,
  root: CommandNode,
  catalog: PluginCatalog
): Candidate[] {
  return possible(before, current, root, catalog).filter(({ value }) => value.startsWith(current))
}

function possible(before: readonly string[], current: string, root: CommandNode, catalog: PluginCatalog): Candidate[] {
  const words = commandWords(before)
  const { node, path } = walk(root, words)
  const flags = flagsOf(node.command)
  const describe = (text: string): string => node.command?.plain?.(text) ?? text
  const previous = flags.find(({ flag }) => flag === before.at(-1))
  if (previous !== undefined && typeOf(previous.field) !== 'boolean') return valuesOf(previous.field, catalog)
  if (current.startsWith('-')) {
    return flags
      .filter(({ flag, field }) => field['x-hidden'] !== true && (flag === '--set' || !before.includes(flag)))
      .map(({ flag, field }) => ({ value: flag, about: describe(String(field.description ?? '')) }))
  }
  const position = words.length - path.length
  const children = position > 0 ? [] : [...node.children].map(([value, child]) => ({ value, about: aboutNode(child) }))
  const { args = [], input = {} } = node.command ?? {}
  const last = args.at(-1)
  const repeated = last !== undefined && typeOf(fieldOf(input, last)) === 'array' ? last : undefined
  const name = args[position] ?? repeated
  return name === undefined ? children : [...children, ...valuesOf(fieldOf(input, name), catalog)]
}

function aboutNode(node: CommandNode): string {
  return node.command?.summary ?? aboutGroup(node)
}

function valuesOf(field: JsonSchema, catalog: PluginCatalog): Candidate[] {
  const item = typeOf(field) === 'array' ? ((field.items ?? {}) as JsonSchema) : field
  const choices = choicesOf(item)
  if (choices !== undefined) return choices.map(value => ({ value: String(value), about: '' }))
  return KNOWN[String(item['x-complete'])]?.(catalog) ?? []
}

/** Candidate lists by their name in `x-complete`. */
const KNOWN: Readonly<Record<string, (catalog: PluginCatalog) => Candidate[]>> = {
  plugins: ({ found }) => found.sources.map(({ name, manifest }) => ({ value: name, about: manifest?.summary ?? '' })),
  operations: ({ manifests }) =>
    manifests.flatMap(({ operations }) => operations.map(({ id, summary }) => ({ value: id, about: summary }))),
  methods: ({ manifests }) => [
    ...manifests.flatMap(({ operations }) =>
      operations.flatMap(descriptor =>
        rpcMethodNames(descriptor).map((value, at) => ({
          value,
          about: at === 0 ? descriptor.summary : `Alias of ${rpcMethodNames(descriptor)[0]}`
        }))
      )
    ),
    { value: 'rpc.discover', about: 'Describe every method' }
  ],
  settings: ({ manifests }) => {
    const { sections } = declarePlugins(manifests)
    return sections
      .filter(({ listed }) => listed !== 'when-mentioned')
      .flatMap(({ prefix, declared }) =>
        declared.map(({ path, schema }) => ({
          value: keyText([...prefix, ...path]),
          about: String(schema.description ?? '')
        }))
      )
  }
}
