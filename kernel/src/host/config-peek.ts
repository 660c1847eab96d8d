import { lookup, merge, withoutUnset } from '../config/layers.ts'
import type { ConfigSources } from '../config/sources.ts'

/** What files and overrides say about where plugins are and which are on. */
export interface ConfigPeek {
  readonly pluginDirectories: readonly string[]
  readonly dataDirectory: string | undefined
  enabled(plugin: string): boolean | undefined
}

/**
 * The little that `--help` needs to know, without loading a validator. Values of the wrong type count as absent:
 * whoever runs something learns of them from `resolveConfig`.
 */
export function peekConfig(sources: ConfigSources): ConfigPeek {
  const table = withoutUnset(sources.layers.map(layer => layer.table).reduce(merge, {}))
  const directories = lookup(table, ['kernel', 'plugin_directories'])
  const told = sources.env.SVC_DATA_DIR || lookup(table, ['kernel', 'data_directory'])
  return {
    dataDirectory: typeof told === 'string' ? told : undefined,
    pluginDirectories: Array.isArray(directories) ? directories.filter(item => typeof item === 'string') : [],
    enabled(plugin) {
      const value = lookup(table, ['plugins', plugin, 'enabled'])
      return typeof value === 'boolean' ? value : undefined
    }
  }
}
