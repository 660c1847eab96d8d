import type { CommandDescriptor, JsonSchema, OperationDescriptor, PluginManifest } from '@svc/plugin-sdk'
import type { Argv } from 'yargs'
import { version } from '../version.ts'
import { collectInput, commandString, describeArguments } from './arguments.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { errorJson, renderError } from './render.ts'

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly json: boolean
  readonly project?: string
  readonly profile?: string
  readonly set: readonly string[]
  readonly inProcess: boolean
  readonly logLevel?: string
}

export type CliCommand =
  | { readonly kind: 'operation'; readonly plugin: string; readonly descriptor: OperationDescriptor }
  | {
      readonly kind: 'command'
      readonly plugin: string
      readonly descriptor: Omit<CommandDescriptor, 'input'> & { readonly input: JsonSchema }
    }

/** Parses, runs, prints; resolves to the exit code. Help and version load no plugin's code. */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`${version}\n`)
    return EXIT.ok
  }
  const flags = globalFlags(argv)
  try {
    return await run(argv, flags)
  } catch (error) {
    process.stderr.write(flags.json ? `${JSON.stringify(errorJson(error))}\n` : `${renderError(error)}\n`)
    return exitCodeOf(error)
  }
}

async function run(argv: readonly string[], flags: GlobalFlags): Promise<number> {
  const [{ default: createYargs }, { readCatalog }] = await Promise.all([import('#yargs'), import('../catalog.ts')])
  const catalog = await readCatalog({ cwd: flags.project ?? process.cwd(), env: process.env, ...given(flags) })
  let code: number = EXIT.ok
  const finish = async (work: Promise<number>): Promise<void> => {
    code = await work
  }
  const parser = createYargs([...argv])
    .scriptName('svc')
    .usage('$0 <command>\n\nA local-first AI toolchain in which every surface is a hot-loadable plugin.')
    .parserConfiguration({ 'camel-case-expansion': false, 'dot-notation': false, 'greedy-arrays': true })
    .option('json', { type: 'boolean', describe: 'Print machine-readable output', global: true })
    .option('project', { type: 'string', requiresArg: true, describe: 'Folder of the project', global: true })
    .option('profile', { type: 'string', requiresArg: true, describe: 'Configuration profile', global: true })
    .option('set', {
      type: 'array',
      string: true,
      requiresArg: true,
      describe: 'Override a setting: a.b=c',
      global: true
    })
    .option('in-process', { type: 'boolean', describe: 'Do not use a running daemon', global: true })
    .option('log-level', {
      choices: ['debug', 'info', 'warn', 'error', 'silent'],
      describe: 'Least severe line to log',
      global: true
    })
    .command('serve', 'Run the plugins and serve until Ctrl-C', describeServe, args =>
      finish(import('./serve.ts').then(({ serve }) => serve({ ...flags, ...serveFlags(args) })))
    )
    .command('call <operation> [input]', 'Call any operation with JSON input', describeCall, args =>
      finish(
        import('./call.ts').then(({ callOperation }) =>
          callOperation(catalog, flags, String(args.operation), text(args.input))
        )
      )
    )
    .command(
      'rpc <method> [params]',
      'Call a method of the running daemon with JSON parameters',
      y => y,
      args =>
        finish(
          import('./call.ts').then(({ callMethod }) =>
            callMethod(catalog, flags, String(args.method), text(args.params))
          )
        )
    )
    .completion('completion', 'Print a completion script for bash or zsh')
    .demandCommand(1, '')
    .strict()
    .recommendCommands()
    .version(version)
    .alias('v', 'version')
    .alias('h', 'help')
    .wrap(Math.min(process.stdout.columns ?? 100, 110))
    .exitProcess(false)
    .fail((message, error) => {
      if (error !== undefined && error !== null) throw error
      process.stderr.write(`svc: ${message === '' ? 'which command?' : message}\nsvc --help lists the commands\n`)
      code = EXIT.usage
      throw new UsageShown()
    })
  addCommands(
    parser,
    commandTree(catalog.manifests.filter(each => catalog.peek.enabled(each.name) ?? each.enabledByDefault)),
    (command, args) =>
      finish(
        import('./call.ts').then(({ runCommand }) =>
          runCommand(catalog, flags, command, collectInput(shapeOf(command), args))
        )
      )
  )
  try {
    await parser.parseAsync()
  } catch (error) {
    if (!(error instanceof UsageShown)) throw error
  }
  return code
}

/** The message was printed already; nothing further is to be done. */
class UsageShown extends Error {}

interface CommandNode {
  readonly children: Map<string, CommandNode>
  command?: CliCommand
}

function commandTree(manifests: readonly PluginManifest[]): CommandNode {
  const root: CommandNode = { children: new Map() }
  for (const manifest of manifests) {
    const operations = manifest.operations
      .filter(each => each.expose.cli !== undefined && each.expose.cli.hidden !== true)
      .map((descriptor): CliCommand => ({ kind: 'operation', plugin: manifest.name, descriptor }))
    const commands = manifest.commands.map(
      (descriptor): CliCommand => ({ kind: 'command', plugin: manifest.name, descriptor })
    )
    for (const command of [...operations, ...commands]) {
      let node = root
      for (const word of shapeOf(command).command.split(' ')) {
        const child = node.children.get(word) ?? { children: new Map() }
        node.children.set(word, child)
        node = child
      }
      node.command = command
    }
  }
  return root
}

function addCommands(
  yargs: Argv,
  node: CommandNode,
  run: (command: CliCommand, args: Record<string, unknown>) => Promise<void>
): void {
  for (const [word, child] of [...node.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { command } = child
    const subcommands = [...child.children.keys()].sort()
    if (command === undefined) {
      yargs.command(word, `${subcommands.join(', ')}`, inner => {
        addCommands(inner, child, run)
        return inner.demandCommand(1, `which of ${subcommands.join(', ')}?`)
      })
    } else {
      const shape = shapeOf(command)
      yargs.command(
        commandString(shape),
        command.descriptor.summary,
        inner => {
          addCommands(inner, child, run)
          return describeArguments(inner, shape)
        },
        args => run(command, args)
      )
    }
  }
}

function shapeOf(command: CliCommand): {
  command: string
  input: JsonSchema
  args?: readonly string[]
  aliases?: Readonly<Record<string, string>>
} {
  if (command.kind === 'command') return command.descriptor
  const { expose, input } = command.descriptor
  return { command: '', ...expose.cli, input }
}

function describeServe(yargs: Argv): Argv {
  return yargs
    .option('only', { type: 'string', requiresArg: true, describe: 'Run only these plugins and what they need: a,b' })
    .option('watch', { type: 'boolean', describe: 'Reload plugins when their sources change' })
}

function serveFlags(args: Readonly<Record<string, unknown>>): { only?: readonly string[]; watch?: boolean } {
  const only = text(args.only)
    ?.split(',')
    .map(name => name.trim())
    .filter(Boolean)
  return { ...(only === undefined ? {} : { only }), ...(typeof args.watch === 'boolean' ? { watch: args.watch } : {}) }
}

function describeCall(yargs: Argv): Argv {
  return yargs
    .positional('operation', {
      type: 'string',
      demandOption: true,
      describe: 'Operation id, for example kernel.plugins.list'
    })
    .positional('input', { type: 'string', describe: 'JSON; - reads it from standard input' })
}

/** Read before yargs, because they decide which commands there are. */
function globalFlags(argv: readonly string[]): GlobalFlags {
  const after = (flag: string): string[] =>
    argv.flatMap((word, index) => {
      if (word.startsWith(`${flag}=`)) return [word.slice(flag.length + 1)]
      const next = argv[index + 1]
      return word === flag && next !== undefined ? [next] : []
    })
  const [project] = after('--project')
  const [profile] = after('--profile')
  const [logLevel] = after('--log-level')
  return {
    json: argv.includes('--json'),
    inProcess: argv.includes('--in-process'),
    set: after('--set'),
    ...(project === undefined ? {} : { project }),
    ...(profile === undefined ? {} : { profile }),
    ...(logLevel === undefined ? {} : { logLevel })
  }
}

function given(flags: GlobalFlags): { profile?: string; set: readonly string[] } {
  return { set: flags.set, ...(flags.profile === undefined ? {} : { profile: flags.profile }) }
}

function text(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}
