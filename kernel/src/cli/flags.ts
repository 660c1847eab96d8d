import { defined, type JsonSchema, type OwnFlag } from '@svc/plugin-sdk'

/** Flags that every command accepts. */
export interface GlobalFlags {
  readonly json: boolean
  readonly project?: string
  readonly profile?: string
  readonly set: readonly string[]
  readonly inProcess: boolean
  /** True if only plugins of the installation run. */
  readonly safe: boolean
  readonly logLevel?: string
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** Global flags as schemas, so that the same code describes global flags and those of commands. */
export const GLOBAL_FLAGS: Readonly<Record<string, JsonSchema>> = {
  json: { type: 'boolean', description: 'Print the result as one JSON document, and errors as JSON' },
  project: {
    type: 'string',
    description: 'Folder of the project; default: nearest one at or above the current folder'
  },
  profile: { type: 'string', description: 'Configuration profile' },
  set: { type: 'array', items: { type: 'string' }, description: 'Override a setting: plugins.http.port=8080' },
  'in-process': { type: 'boolean', description: 'Do not use a running daemon' },
  safe: { type: 'boolean', description: 'Run only plugins of the installation' },
  'log-level': { type: 'string', enum: LOG_LEVELS, description: 'Lowest level of log lines to print' }
}

/**
 * Reads the global flags before parsing, since they decide which commands exist. The parser later reports their errors.
 */
export function readGlobalFlags(argv: readonly string[]): GlobalFlags {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const after = (flag: string): string[] =>
    words.flatMap((word, index) => {
      if (word.startsWith(`${flag}=`)) return [word.slice(flag.length + 1)]
      const next = words[index + 1]
      return word === flag && next !== undefined ? [next] : []
    })
  const project = after('--project').at(-1)
  const profile = after('--profile').at(-1)
  const logLevel = after('--log-level').at(-1)
  return defined({
    json: words.includes('--json'),
    // A running daemon may run other plugins than those of the installation.
    inProcess: words.includes('--in-process') || words.includes('--safe'),
    safe: words.includes('--safe'),
    set: after('--set'),
    project,
    profile,
    logLevel
  })
}

/** Returns the words of a command line that are neither flags nor values of global flags. */
export function commandWords(argv: readonly string[]): string[] {
  const takesValue = (word: string): boolean => {
    const field = GLOBAL_FLAGS[word.replace(/^--/, '')]
    return word.startsWith('--') && field !== undefined && field.type !== 'boolean'
  }
  return argv.filter((word, index) => !word.startsWith('-') && !takesValue(argv[index - 1] ?? ''))
}

/** A command as far as its flags are concerned. */
interface CommandFlags {
  readonly command: string
  readonly ownFlags?: readonly OwnFlag[]
}

/**
 * Renames the flags that a command declares as its own, if they come after its words; see `flagName`. Returns the same array
 * if there is none.
 */
export function renameOwnFlags(argv: readonly string[], commands: readonly CommandFlags[]): readonly string[] {
  const words = commandWords(argv)
  const own = commands
    .filter(({ command, ownFlags = [] }) => {
      return ownFlags.length > 0 && command.split(' ').every((word, index) => word === words[index])
    })
    .toSorted((a, b) => b.command.length - a.command.length)[0]
  if (own === undefined) return argv
  const after = own.command.split(' ').reduce((at, word) => argv.indexOf(word, at) + 1, 0)
  const end = argv.indexOf('--')
  const isOwn = (word: string, index: number): boolean =>
    index >= after && (end === -1 || index < end) && own.ownFlags?.some(flag => isFlag(word, flag)) === true
  return argv.some(isOwn)
    ? argv.map((word, index) => (isOwn(word, index) ? word.replace(/^--/, '--input-') : word))
    : argv
}

function isFlag(word: string, name: string): boolean {
  return word === `--${name}` || word.startsWith(`--${name}=`)
}

/** Splits the value of `--only a,b` into plugin names. */
export function namesOf(only: string): string[] {
  return only
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
}

/** Returns the plugins of `svc serve --only`. Read before parsing, because only these are loaded. */
export function onlyOf(argv: readonly string[]): readonly string[] | undefined {
  if (commandWords(argv)[0] !== 'serve') return undefined
  const at = argv.findIndex(word => word === '--only' || word.startsWith('--only='))
  const value = argv[at]?.includes('=') === true ? argv[at].slice('--only='.length) : argv[at + 1]
  return at === -1 || value === undefined ? undefined : namesOf(value)
}

/** Returns the flags that decide which plugins and settings the catalog contains. */
export function catalogChoices({ profile, set, safe }: GlobalFlags): {
  profile?: string
  set: readonly string[]
  safe: boolean
} {
  return defined({ set, safe, profile })
}
