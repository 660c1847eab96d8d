import type { ConfigSources } from '@svc/config/sources'
import { isTable, lookup, merge, withoutUnset } from '@svc/config/sources'
import type { Permissions } from '@svc/plugin-sdk'

/** Settings that decide where plugins are and which ones run. */
export interface ConfigPeek {
  readonly pluginDirectories: readonly string[]
  readonly dataDirectory: string | undefined
  readonly describeTimeoutMs: number | undefined
  readonly only: readonly string[] | undefined
  enabled(plugin: string): boolean | undefined
  permissions(plugin: string): Permissions | null
}

/**
 * Reads the settings that `--help` needs, without loading a validator. Ignores values of the wrong type, which
 * `resolveConfig` reports.
 */
export function peekConfig(sources: ConfigSources): ConfigPeek {
  const table = withoutUnset(sources.layers.map(layer => layer.table).reduce(merge, {}))
  const directories = lookup(table, ['kernel', 'plugin_directories'])
  const given = sources.env.SVC_DATA_DIR || lookup(table, ['kernel', 'data_directory'])
  const limit = lookup(table, ['kernel', 'describe_timeout_ms'])
  const only = lookup(table, ['kernel', 'only'])
  return {
    dataDirectory: typeof given === 'string' ? given : undefined,
    pluginDirectories: Array.isArray(directories) ? directories.filter(item => typeof item === 'string') : [],
    describeTimeoutMs: typeof limit === 'number' && limit >= 1 ? limit : undefined,
    only: Array.isArray(only) ? only.filter(item => typeof item === 'string') : undefined,
    permissions(plugin) {
      const granted = lookup(table, ['plugins', plugin, 'permissions'])
      return isTable(granted) ? permissionsOf(granted) : null
    },
    enabled(plugin) {
      const value = lookup(table, ['plugins', plugin, 'enabled'])
      return typeof value === 'boolean' ? value : undefined
    }
  }
}

/** Reads permissions. A value of the wrong type grants none. */
function permissionsOf(granted: Readonly<Record<string, unknown>>): Permissions {
  const paths = (key: string): readonly string[] => {
    const value = granted[key]
    return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
  }
  return {
    fsRead: paths('fs_read'),
    fsWrite: paths('fs_write'),
    env: paths('env'),
    secrets: paths('secrets'),
    childProcess: granted.child_process === true,
    worker: granted.worker === true,
    nativeAddons: granted.native_addons === true
  }
}
