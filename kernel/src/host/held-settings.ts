import { explainSetting, listSettings, problemsError, type Resolved, type ResolvedSection } from '@svc/config'
import type { SvcError } from '@svc/plugin-sdk'
import type { ResolvedConfig } from './plugin-config.ts'
import { policySection, settingsSection } from './sections.ts'

/** Returns `config`, but with the settings from `before` for the named plugins. */
export function holdSettings(
  config: ResolvedConfig,
  before: ResolvedConfig,
  names: ReadonlySet<string>
): ResolvedConfig {
  if (names.size === 0) return config
  const held = new Set([...names].flatMap(name => [policySection(name), settingsSection(name)]))
  const section = (name: string): ResolvedSection | undefined =>
    (held.has(name) ? before.resolved.section(name) : undefined) ?? config.resolved.section(name)
  const sections = config.resolved.sections.map(each => section(each.name) ?? each)
  const resolved: Resolved = {
    ...config.resolved,
    section,
    sections,
    settings: prefix => listSettings(sections, prefix),
    explain: key => explainSetting(sections, key)
  }
  const plugins = [...config.plugins].map(
    ([name, own]) => [name, (names.has(name) ? before.plugins.get(name) : undefined) ?? own] as const
  )
  const { settings, explain } = resolved
  return { ...config, resolved, plugins: new Map(plugins), settings, explain }
}

/** Returns running plugins with invalid settings. They keep their previous settings and do not block other plugins. */
export function refusedSettings(
  config: ResolvedConfig,
  running: ReadonlyMap<string, unknown>
): ReadonlyMap<string, SvcError> {
  const refused = new Map<string, SvcError>()
  for (const [name, { problems, enabled }] of config.plugins) {
    const wrong = problems.filter(({ severity }) => severity === 'error')
    if (wrong.length === 0 || enabled === false || !running.has(name)) continue
    refused.set(name, problemsError(wrong))
  }
  return refused
}
