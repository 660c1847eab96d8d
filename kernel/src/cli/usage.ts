import type { SvcError } from '@svc/plugin-sdk'
import { closest } from '@svc/plugin-sdk'
import { flagName, flagsOf, requiredOf } from './arguments.ts'
import { type CommandNode, walk } from './commands.ts'
import { cliErrors } from './errors.ts'
import { commandWords } from './flags.ts'

interface CommandPosition {
  readonly argv: readonly string[]
  readonly node: CommandNode
  /** `svc` and the words that name a known command or group. */
  readonly program: string
  /** The first unknown word. */
  readonly next: string | undefined
}

export interface KnownCommands {
  readonly root: CommandNode
  /** Commands of disabled plugins. */
  readonly disabled: CommandNode
}

/**
 * Returns the error for words that are not a command. Checked before parsing, since yargs would print the help of the
 * parent command if the line contains `--help`.
 */
export function unknownCommandError(argv: readonly string[], { root, disabled }: KnownCommands): SvcError | undefined {
  const words = commandWords(argv)
  const place = matchWords(argv, root)
  if (place.node.command !== undefined || place.next === undefined) return undefined
  return disabledCommand(walk(disabled, words).node) ?? unknownCommand(place)
}

/** Returns the error for arguments that yargs rejected, with a hint from the known commands and flags. */
export function usageError(argv: readonly string[], { root }: KnownCommands, message: string): SvcError {
  const place = matchWords(argv, root)
  const { command } = place.node
  const [, unknown] = /^Unknown (?:argument|command)s?: ([^,]*)/.exec(message) ?? []
  const known = flagsOf(command).map(each => each.flag)
  const flag = argv.find(word => (unknown === undefined ? isUnknown(word, known) : flagOf(word) === unknown))
  if (flag !== undefined) return unknownFlag(place, flag)
  if (command === undefined) return missingCommand(place)
  return invalid(place, unknown === undefined ? reworded(message, place) : tooMany(command.args ?? []))
}

/** Does not show the argument: it may be a secret, and the message may be logged. */
function tooMany({ length }: readonly string[]): string {
  return length === 0
    ? 'accepts no arguments'
    : `accepts ${length} argument${length === 1 ? '' : 's'}, but more are given`
}

function matchWords(argv: readonly string[], root: CommandNode): CommandPosition {
  const words = commandWords(argv)
  const { node, path } = walk(root, words)
  return { argv, node, program: ['svc', ...path].join(' '), next: words[path.length] }
}

function unknownCommand({ program, node, next = '' }: CommandPosition): SvcError {
  const near = closest(next, [...node.children.keys()])
  const hint = near === undefined ? `see ${program} --help` : `did you mean ${program} ${near}?`
  return cliErrors.create('CLI_COMMAND_UNKNOWN', `${program} has no command ${JSON.stringify(next)}`, { hint })
}

function disabledCommand({ command }: CommandNode): SvcError | undefined {
  if (command?.plugin === undefined) return undefined
  const message = `svc ${command.command} belongs to the plugin ${command.plugin}, which is disabled`
  return cliErrors.create('CLI_COMMAND_UNKNOWN', message, { hint: `svc plugins enable ${command.plugin}` })
}

function missingCommand({ program, node }: CommandPosition): SvcError {
  const names = [...node.children.keys()].sort().join(', ')
  const hint = `one of ${names}; see ${program} --help`
  return cliErrors.create('CLI_COMMAND_MISSING', `${program} needs a command`, { hint })
}

function unknownFlag({ program, node }: CommandPosition, word: string): SvcError {
  const flag = word.replace(/=.*$/, '')
  const near = closest(
    flag,
    flagsOf(node.command).map(each => each.flag)
  )
  const hint = near === undefined ? `see ${program} --help` : `did you mean ${near}?`
  return cliErrors.create('CLI_ARGUMENT_INVALID', `${program} has no flag ${flag}`, { hint })
}

function invalid(place: CommandPosition, what: string): SvcError {
  const { program } = place
  const hint = exampleFor(place, what) ?? `see ${program} --help`
  return cliErrors.create('CLI_ARGUMENT_INVALID', `${program} ${what}`, { hint })
}

/** Returns an example for a flag without value, if its schema has one. */
function exampleFor({ program, node }: CommandPosition, what: string): string | undefined {
  const [, name] = /^needs a value after --(\S+)$/.exec(what) ?? []
  const [example] = (flagsOf(node.command).find(({ flag }) => flag === `--${name}`)?.field.examples ?? []) as string[]
  return example === undefined ? undefined : `for example ${program} --${name} ${example}`
}

function reworded(message: string, { node, argv, program }: CommandPosition): string {
  const text = message.replace(/\s*\n\s*/g, ' ').trim()
  const [, argument, given, choices] = /Argument: ([^,]+), Given: (.+), Choices: (.+)$/.exec(text) ?? []
  if (choices !== undefined) return `does not accept ${given} for ${argument}; use one of ${choices}`
  const [, followed] = /^Not enough arguments following: (\S+)/.exec(text) ?? []
  if (followed !== undefined) return `needs a value after --${followed}`
  const [, missing] = /^Missing required arguments?: (.+)$/.exec(text) ?? []
  if (missing !== undefined)
    return `needs ${missing
      .split(', ')
      .map(name => `--${name}`)
      .join(' and ')}`
  if (/^Not enough non-option arguments/.test(text)) {
    const { args = [], input = {} } = node.command ?? {}
    const got = commandWords(argv).length - program.split(' ').length + 1
    const needed = args.slice(got).filter(name => requiredOf(input).has(name))
    return `needs ${needed.map(name => `<${flagName(name)}>`).join(' ')}`
  }
  return `could not be parsed: ${text}`
}

function isUnknown(word: string, known: readonly string[]): boolean {
  return word.startsWith('--') && flagOf(word) !== undefined && !known.includes(`--${flagOf(word)}`)
}

/** Returns the name of a flag without dashes and value. Undefined for other words. */
function flagOf(word: string): string | undefined {
  return /^--?(?:no-)?([^-=][^=]*)/.exec(word)?.[1]
}
