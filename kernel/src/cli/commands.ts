import { defined, type JsonSchema, type OperationDescriptor, type PluginManifest } from '@svc/plugin-sdk'
import type { PluginCatalog } from '../host/catalog.ts'
import type { GlobalFlags } from './flags.ts'
import { GROUPS } from './groups.ts'
import { type PlainText, plainTextOf } from './plain-text.ts'

/** Catalog and global flags that every command receives. */
export interface CommandSession {
  readonly catalog: PluginCatalog
  readonly flags: GlobalFlags
}

/** One command, of the kernel or of a plugin. */
export interface CliCommand {
  /** Words after the program's name. */
  readonly command: string
  readonly summary: string
  readonly description?: string
  /** JSON Schema of positionals and flags together. */
  readonly input: JsonSchema
  /** Input fields that are positional arguments. */
  readonly args: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
  /** Plugin that contributes it; undefined for the kernel's own. */
  readonly plugin?: string
  /** Converts Markdown in descriptions to plain text; default: no conversion. */
  readonly plain?: PlainText
  /** Resolves to the exit code. */
  run(session: CommandSession, input: Readonly<Record<string, unknown>>): Promise<number>
}

export interface CommandNode {
  readonly children: Map<string, CommandNode>
  /** Description of a command group. */
  about?: string | undefined
  command?: CliCommand
}

/**
 * Builds the tree of commands, one node per word. If two commands have the same words, the first wins; commands of the
 * kernel come first. Commands of broken plugins stay, marked as broken, since a daemon may still run them.
 */
export function commandTree(manifests: readonly PluginManifest[], broken: readonly PluginManifest[] = []): CommandNode {
  const root: CommandNode = { children: new Map() }
  const plain = plainTextOf([...manifests, ...broken])
  const summaries = new Map([...manifests, ...broken].map(({ name, summary }) => [name, summary]))
  const contributed = (manifest: PluginManifest): CliCommand[] => commandsOf(manifest, plain)
  const brokenCommands = broken.flatMap(contributed).map(each => ({ ...each, summary: brokenSummary(each) }))
  for (const command of [...BUILT_IN, ...manifests.flatMap(contributed), ...brokenCommands]) {
    let node = root
    let path = ''
    for (const word of command.command.split(' ')) {
      path = path === '' ? word : `${path} ${word}`
      const child = node.children.get(word) ?? { children: new Map() }
      node.children.set(word, child)
      node = child
      node.about ??= GROUPS[path] ?? summaries.get(command.plugin ?? '')
    }
    node.command ??= command
  }
  return root
}

/** Follows words into the tree as far as they match. */
export function walk(
  root: CommandNode,
  words: readonly string[]
): { readonly node: CommandNode; readonly path: readonly string[] } {
  let node = root
  const path: string[] = []
  for (const word of words) {
    const child = node.children.get(word)
    if (child === undefined) break
    path.push(word)
    node = child
  }
  return { node, path }
}

/** Returns the description of a command group. */
export function aboutGroup({ about, children }: CommandNode): string {
  return about || [...children.keys()].sort().join(', ')
}

function brokenSummary({ summary, plugin }: CliCommand): string {
  return `${summary} (the plugin ${plugin} is broken: svc plugins why ${plugin})`
}

function commandsOf(manifest: PluginManifest, plain: PlainText): CliCommand[] {
  const operations = manifest.operations.flatMap(each => fromOperation(manifest.name, each))
  const commands = manifest.commands.map(each => fromCommand(manifest.name, each))
  return [...operations, ...commands].map(each => ({ ...each, summary: plain(each.summary), plain }))
}

function fromOperation(plugin: string, descriptor: OperationDescriptor): CliCommand[] {
  const { expose, input, summary, description } = descriptor
  if (expose.cli === undefined || expose.cli.hidden === true) return []
  const { command, args = [], aliases = {}, view } = expose.cli
  const run: CliCommand['run'] = async (session, given) => {
    const [{ runOperation }, { typedError }] = await Promise.all([import('./call.ts'), import('./typed-error.ts')])
    try {
      return await runOperation(session, plugin, descriptor, given, view)
    } catch (error) {
      throw typedError(error, { command, args, descriptor })
    }
  }
  return [defined({ command, summary, input, args, aliases, plugin, run, description })]
}

function fromCommand(plugin: string, descriptor: PluginManifest['commands'][number]): CliCommand {
  const { command, summary, input, args = [], aliases = {} } = descriptor
  const run: CliCommand['run'] = async (session, given) =>
    (await import('./call.ts')).runPluginCommand(session, plugin, descriptor, given)
  return { command, summary, input, args, aliases, plugin, run }
}

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({ type: 'string', description, ...more })

const BUILT_IN: readonly CliCommand[] = [
  {
    command: 'serve',
    summary: 'Run the plugins and serve until Ctrl-C',
    description:
      'To only serve a model: svc serve --profile model-server. It runs the HTTP server without its main\n' +
      'listener, the engine and the model server; clients on other machines set plugins.inference-client.url.',
    input: {
      properties: {
        only: text('Run only these plugins and their requirements: a,b', {
          'x-complete': 'plugins',
          examples: ['http,orchestrator']
        }),
        watch: { type: 'boolean', description: 'Run plugins from their sources and reload saved files' }
      }
    },
    args: [],
    aliases: {},
    run: async (session, input) => (await import('./serve.ts')).serve(session.flags, input)
  },
  {
    command: 'call',
    summary: 'Call any operation with JSON input',
    input: {
      properties: {
        operation: text('Operation id, for example kernel.plugins.list', { 'x-complete': 'operations' }),
        input: text('JSON; - reads it from standard input')
      },
      required: ['operation']
    },
    args: ['operation', 'input'],
    aliases: {},
    run: async (session, { operation, input }) =>
      (await import('./call.ts')).callById(session, String(operation), input as string | undefined)
  },
  {
    command: 'rpc',
    summary: 'Call a method of the running daemon with JSON parameters',
    input: {
      properties: {
        method: text('Method, for example orch.ping; rpc.discover lists them', { 'x-complete': 'methods' }),
        params: text('JSON; - reads it from standard input')
      },
      required: ['method']
    },
    args: ['method', 'params'],
    aliases: {},
    run: async (session, { method, params }) =>
      (await import('./rpc.ts')).callMethod(session, String(method), params as string | undefined)
  },
  {
    command: 'completion',
    summary: 'Print a completion script for your shell',
    description:
      'bash and zsh: source <(svc completion); fish: svc completion fish | source; PowerShell: svc completion powershell | Out-String | Invoke-Expression',
    input: { properties: { shell: text('Default: by $SHELL', { enum: ['bash', 'zsh', 'fish', 'powershell'] }) } },
    args: ['shell'],
    aliases: {},
    run: async (_session, { shell }) => (await import('./completion.ts')).printScript(shell as string | undefined)
  }
]
