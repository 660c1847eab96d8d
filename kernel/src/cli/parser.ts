import type { Argv } from 'yargs'
import { version } from '../host/version.ts'
import { collectInput, commandString, describeArguments, describeField, flagName, ownFlags } from './arguments.ts'
import { aboutGroup, type CliCommand, type CommandNode } from './commands.ts'
import { commandWords, GLOBAL_FLAGS } from './flags.ts'
import { unknownCommandError, usageError } from './usage.ts'

/** Result of parsing. `shown`: help or the version was printed. `nothing`: the command line is empty. */
export type Parsed =
  | { readonly kind: 'command'; readonly command: CliCommand; readonly input: Record<string, unknown> }
  | { readonly kind: 'shown' }
  | { readonly kind: 'nothing'; readonly help: string }

/**
 * Parses a command line without running the command. Throws `CLI_…` errors with a suggestion. `disabled` contains the
 * commands of disabled plugins.
 */
export async function parse(argv: readonly string[], root: CommandNode, disabled: CommandNode): Promise<Parsed> {
  const unknown = unknownCommandError(argv, { root, disabled })
  if (unknown !== undefined) throw unknown
  const { default: createYargs } = await import('#yargs')
  let chosen: Parsed = { kind: 'shown' }
  const { words, restore, reveal } = protect(argv)
  const parser = createYargs(words)
    .scriptName('svc')
    .detectLocale(false)
    .usage('$0 <command>\n\nA local-first AI toolchain in which every surface is a hot-loadable plugin.')
    .parserConfiguration({ 'camel-case-expansion': false, 'dot-notation': false, 'greedy-arrays': false })
    .options(Object.fromEntries(Object.entries(GLOBAL_FLAGS).map(([name, field]) => [name, describeField(field)])))
    .strict()
    .version(version)
    .alias('v', 'version')
    .alias('h', 'help')
    .wrap(Math.min(process.stdout.columns ?? 100, 110))
    .exitProcess(false)
    .fail((message, error) => {
      // An error of yargs means invalid arguments. Others come from our code and are not reworded.
      if (error !== undefined && error !== null && error.name !== 'YError') throw error
      throw usageError(argv, { root, disabled }, reveal(message ?? error.message))
    })
  const choose = (command: CliCommand, parsed: Record<string, unknown>): void => {
    chosen = { kind: 'command', command, input: collectInput(command, restore(parsed)) }
  }
  addCommands(parser, root, [], choose)
  const steps = firstSteps(root)
  if (steps !== null) parser.epilogue(steps)
  // yargs prints flag groups of the program before those of a command, so it has groups only without a command.
  if (commandWords(argv).length === 0) groupFlags(parser, [])
  if (argv.length === 0) return { kind: 'nothing', help: await parser.getHelp() }
  await parser.parseAsync()
  return chosen
}

/** Commands with which users begin. */
const FIRST_STEPS = ['up', 'new', 'model pull', 'doctor']

/** Returns the end of the help text: those of the first steps that exist. Null if there are none. */
function firstSteps(root: CommandNode): string | null {
  const steps = FIRST_STEPS.flatMap(words => {
    const found = words
      .split(' ')
      .reduce<CommandNode | undefined>((node, word) => node?.children.get(word), root)?.command
    return found === undefined ? [] : [`  svc ${words.padEnd(12)}${found.summary}`]
  })
  if (steps.length === 0) return null
  return ['Begin with:', ...steps, '', 'Help of a command: svc COMMAND --help'].join('\n')
}

interface Protected {
  readonly words: string[]
  restore(parsed: Readonly<Record<string, unknown>>): Record<string, unknown>
  /** Replaces the placeholders in a message of yargs by the original words. */
  reveal(message: string): string
}

/** Replaces `-`, and words after `--` that start with `-`, by placeholders: yargs would parse these arguments as flags. */
function protect(argv: readonly string[]): Protected {
  const end = argv.indexOf('--')
  const placeholders = new Map<string, string>()
  const words = argv.flatMap((word, index) => {
    if (index === end) return []
    if (word !== '-' && (end === -1 || index < end || !word.startsWith('-'))) return [word]
    const placeholder = `\0${index}`
    placeholders.set(placeholder, word)
    return [placeholder]
  })
  const original = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(original) : (placeholders.get(value as string) ?? value)
  return {
    words,
    restore: parsed => Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, original(value)])),
    reveal: message => message.replace(/\0\d+/g, word => placeholders.get(word) ?? word)
  }
}

function groupFlags(yargs: Argv, own: readonly string[]): void {
  if (own.length > 0) yargs.group(own, 'Flags:')
  const general = [...Object.keys(GLOBAL_FLAGS), 'help', 'version']
  yargs.group(
    general.filter(name => !own.includes(name)),
    'Flags of every command:'
  )
}

type Choose = (command: CliCommand, parsed: Record<string, unknown>) => void

function addCommands(yargs: Argv, node: CommandNode, path: readonly string[], choose: Choose): void {
  for (const [word, child] of [...node.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { command } = child
    const words = [...path, word]
    if (command === undefined) {
      yargs.command(word, aboutGroup(child), inner => {
        inner.usage(`$0 ${words.join(' ')} <command>\n\n${aboutGroup(child)}.`)
        addCommands(inner, child, words, choose)
        groupFlags(inner, [])
        return inner.demandCommand(1, `svc ${words.join(' ')} needs a command`)
      })
    } else {
      yargs.command(
        commandString(command),
        command.summary,
        inner => {
          addCommands(inner, child, words, choose)
          if (command.description !== undefined)
            inner.epilogue(command.plain?.(command.description) ?? command.description)
          if (command.args.length > 0) inner.group(command.args.map(flagName), 'Positionals:')
          const own = ownFlags(command)
          if (own.includes('version')) inner.version(false)
          groupFlags(inner, own)
          return describeArguments(inner, command)
        },
        parsed => choose(command, parsed)
      )
    }
  }
}
