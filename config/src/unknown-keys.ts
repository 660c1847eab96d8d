import { type ConfigProblem, closest } from '@svc/plugin-sdk'
import { isTable, type Path, type Table, UNSET } from './layers.ts'
import { didYouMean, problem } from './problem.ts'
import { isNested, type Registry } from './section.ts'
import type { ConfigSources } from './sources.ts'
import { keyText } from './toml.ts'

/** A top-level table that holds one table per member, such as `[plugins.NAME]`. */
export interface Group {
  readonly table: string
  readonly members: readonly string[]
  /** Returns message and hint for a table whose name is not a member. */
  missing(name: string): { readonly message: string; readonly hint: string }
}

/** Reports top-level tables that no section declares, and tables of a group whose name is not a member. */
export function unknownKeys(sources: ConfigSources, registry: Registry, groups: readonly Group[]): ConfigProblem[] {
  const tops = registry.sections.flatMap(section =>
    section.tables.flatMap(([top = '', ...rest]) => (rest.length === 0 ? [top] : []))
  )
  const nested = registry.sections.flatMap(section => section.tables.filter(table => isNested(section, table)))
  const tables = [...new Set([...tops, ...nested.map(([top = '']) => top), ...groups.map(({ table }) => table)])]
  return sources.layers.flatMap(layer =>
    Object.entries(layer.table).flatMap(([key, value]) => {
      const at = (path: Path) => [layer.place(path), keyText(path)] as const
      if (!tables.includes(key)) {
        const group = groups.find(({ members }) => members.includes(key))
        const hint = group === undefined ? didYouMean(key, tables) : `did you mean "${group.table}.${key}"?`
        const message = `[${key}] is not a table of ${sources.dialect.file}`
        return problem('error', 'CFG_KEY_UNKNOWN', message, ...at([key]), hint)
      }
      if (!isTable(value)) return value === UNSET ? [] : notATable(...at([key]))
      const group = groups.find(({ table }) => table === key)
      if (group === undefined) return nestedProblems(key, value, { tops, nested, at })
      return Object.entries(value).flatMap(([name, own]) => {
        if (group.members.includes(name)) return isTable(own) || own === UNSET ? [] : notATable(...at([key, name]))
        const near = closest(name, group.members, 2)
        const { message, hint } = group.missing(name)
        return problem(
          near === undefined ? 'warning' : 'error',
          'CFG_PLUGIN_UNKNOWN',
          message,
          ...at([key, name]),
          near === undefined ? hint : `did you mean "${near}"?`
        )
      })
    })
  )
}

/** Checks tables of sections inside a top-level table, and other keys of a table that no section declares. */
function nestedProblems(
  top: string,
  value: Table,
  context: {
    readonly tops: readonly string[]
    readonly nested: readonly Path[]
    readonly at: (path: Path) => readonly [Parameters<typeof problem>[3], string]
  }
): ConfigProblem[] {
  const { tops, nested, at } = context
  const members = nested.flatMap(([first, member = '']) => (first === top ? [member] : []))
  return Object.entries(value).flatMap(([name, own]) => {
    if (members.includes(name)) return isTable(own) || own === UNSET ? [] : notATable(...at([top, name]))
    if (tops.includes(top)) return []
    const message = `${keyText([top, name])} is not a setting: no plugin that declares [${top}] is installed`
    return problem('error', 'CFG_KEY_UNKNOWN', message, ...at([top, name]), didYouMean(name, members))
  })
}

function notATable(place: Parameters<typeof problem>[3], key: string): ConfigProblem {
  return problem('error', 'CFG_VALUE_INVALID', `${key} must be a table`, place, key)
}

/** Reports environment variables with the dialect's prefix that no setting reads but that resemble a known one. */
export function nearMisses({ env, dialect }: ConfigSources, variables: ReadonlyMap<string, string>): ConfigProblem[] {
  return Object.keys(env).flatMap(name => {
    const candidate = name.startsWith(dialect.envPrefix) && !variables.has(name)
    const near = candidate ? closest(name, [...variables.keys()], 2) : undefined
    if (near === undefined) return []
    const message = `no plugin reads the environment variable ${name}`
    return problem('warning', 'CFG_ENV_UNKNOWN', message, undefined, variables.get(near), `did you mean ${near}?`)
  })
}
