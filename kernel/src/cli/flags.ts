import { defined, type JsonSchema } from '@svc/plugin-sdk'

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly json: boolean
  readonly project?: string
  readonly profile?: string
  readonly set: readonly string[]
  readonly inProcess: boolean
  /** Whether only plugins of the installation run. */
  readonly safe: boolean
  readonly logLevel?: string
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** The global flags as an input schema, so that the same code describes them and those of commands. */
export const GLOBAL_FLAGS: Readonly<Record<string, JsonSchema>> = {
  json: { type: 'boolean', description: 'Print the result as one JSON document, and errors as JSON' },
  project: { type: 'string', description: 'Folder of the project; default: found upward from here' },
  profile: { type: 'string', description: 'Configuration profile' },
  set: { type: 'array', items: { type: 'string' }, description: 'Override a setting: plugins.http.port=8080' },
  'in-process': { type: 'boolean', description: 'Do not use a running daemon' },
  safe: { type: 'boolean', description: 'Run only plugins of the installation' },
  'log-level': { type: 'string', enum: LOG_LEVELS, description: 'Least severe line to log' }
}

/**
 * Read before parsing, because they decide which commands exist. The parser reports their errors later.
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
    // A running daemon runs other plugins.
    inProcess: words.includes('--in-process') || words.includes('--safe'),
    safe: words.includes('--safe'),
    set: after('--set'),
    project,
    profile,
    logLevel
  })
}

/** The words of a command line that are neither flags nor values of global flags. */
export function commandWords(argv: readonly string[]): string[] {
  const takesValue = (word: string): boolean => {
    const field = GLOBAL_FLAGS[word.replace(/^--/, '')]
    return word.startsWith('--') && field !== undefined && field.type !== 'boolean'
  }
  return argv.filter((word, index) => !word.startsWith('-') && !takesValue(argv[index - 1] ?? ''))
}

/** Plugin names of `--only a,b`. */
export function namesOf(only: string): string[] {
  return only
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
}

/** Plugins that `svc serve --only` names. Read before parsing, because only these are described. */
export function onlyOf(argv: readonly string[]): readonly string[] | undefined {
  if (commandWords(argv)[0] !== 'serve') return undefined
  const at = argv.findIndex(word => word === '--only' || word.startsWith('--only='))
  const value = argv[at]?.includes('=') === true ? argv[at].slice('--only='.length) : argv[at + 1]
  return at === -1 || value === undefined ? undefined : namesOf(value)
}

/** The flags that decide what the catalog holds. */
export function catalogChoices({ profile, set, safe }: GlobalFlags): {
  profile?: string
  set: readonly string[]
  safe: boolean
} {
  return defined({ set, safe, profile })
}
