import type { ConfigProblem } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { isTable, type Path, UNSET } from './layers.ts'
import { didYouMean, problem } from './problem.ts'
import type { ConfigurablePlugin } from './registry.ts'
import type { ConfigSources } from './sources.ts'
import { keyText } from './toml.ts'

/** Tables that belong to nobody and plugins that are not installed. */
export function unknownTables(
  sources: ConfigSources,
  plugins: readonly ConfigurablePlugin[],
  sections: ReadonlyMap<string, string>
): ConfigProblem[] {
  const names = plugins.map(plugin => plugin.name)
  const tables = ['kernel', 'plugins', ...sections.keys()]
  return sources.layers.flatMap(layer =>
    Object.entries(layer.table).flatMap(([key, value]) => {
      const at = (path: Path) => [layer.place(path), keyText(path)] as const
      if (!tables.includes(key)) {
        const hint = names.includes(key) ? `did you mean "plugins.${key}"?` : didYouMean(key, tables)
        return problem('error', 'CFG_KEY_UNKNOWN', `[${key}] is not a table of svc.toml`, ...at([key]), hint)
      }
      if (!isTable(value)) return value === UNSET ? [] : notATable(...at([key]))
      if (key !== 'plugins') return []
      return Object.entries(value).flatMap(([name, own]) => {
        if (names.includes(name)) return isTable(own) || own === UNSET ? [] : notATable(...at([key, name]))
        const near = closest(name, names, 2)
        const hint = near === undefined ? 'install it, or remove the table' : `did you mean "${near}"?`
        const message = `no plugin "${name}" is installed`
        return problem(
          near === undefined ? 'warning' : 'error',
          'CFG_PLUGIN_UNKNOWN',
          message,
          ...at([key, name]),
          hint
        )
      })
    })
  )
}

function notATable(place: Parameters<typeof problem>[3], key: string): ConfigProblem {
  return problem('error', 'CFG_VALUE_INVALID', `${key} must be a table`, place, key)
}

/** Variables that nobody reads and that look like one that somebody does. */
export function nearMisses(env: ConfigSources['env'], variables: ReadonlyMap<string, string>): ConfigProblem[] {
  return Object.keys(env).flatMap(name => {
    const near = name.startsWith('SVC_') && !variables.has(name) ? closest(name, [...variables.keys()], 2) : undefined
    if (near === undefined) return []
    const message = `environment variable ${name} is read by no plugin`
    return problem('warning', 'CFG_ENV_UNKNOWN', message, undefined, variables.get(near), `did you mean ${near}?`)
  })
}
