import { describePlugin, type Plugin } from '@svc/plugin-sdk'
import type { PluginSource, PreparedCode } from '../core/plugin-source.ts'

/** Creates the source of a plugin that is defined in the host's own code, for tests and embedders. */
export function inlineSource(plugin: Plugin, version = '0.0.0', location = process.cwd()): PluginSource {
  const manifest = describePlugin(plugin, version)
  const code: PreparedCode = {
    manifest,
    fingerprint: `inline:${version}`,
    inputs: [],
    bundle: Promise.resolve(null),
    instantiate: () => ({ plugin, adopt: open => open() })
  }
  return {
    name: plugin.name,
    location,
    version,
    manifest,
    problem: null,
    lapsed: null,
    prepare: async () => code,
    close: async () => {}
  }
}
