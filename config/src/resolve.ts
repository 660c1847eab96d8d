import type { ConfigProblem, SettingExplanation, SettingReport } from '@svc/plugin-sdk'
import { explainSetting, listSettings } from './explain.ts'
import { type ResolvedSection, resolveSection } from './resolve-section.ts'
import type { Registry } from './section.ts'
import type { ConfigSources } from './sources.ts'
import { type Group, nearMisses, unknownKeys } from './unknown-keys.ts'

/** An immutable snapshot of all settings. */
export interface Resolved {
  readonly sections: readonly ResolvedSection[]
  /** Problems that belong to no section. Those of a section are its `conflicts` and `problems`. */
  readonly problems: readonly ConfigProblem[]
  section(name: string): ResolvedSection | undefined
  /** Lists settings, all or those below a prefix. Secrets are masked. */
  settings(prefix?: string): readonly SettingReport[]
  /** Throws `CFG_SETTING_UNKNOWN`. */
  explain(key: string): SettingExplanation
}

/** Assigns the sources to sections. Never throws for bad input: it is listed as problems. */
export function resolve(
  sources: ConfigSources,
  registry: Registry,
  options: { readonly groups?: readonly Group[] } = {}
): Resolved {
  const sections = registry.sections.map(section => resolveSection(section, sources))
  const byName = new Map(sections.map(section => [section.name, section]))
  return {
    sections,
    problems: [
      ...sources.problems,
      ...unknownKeys(sources, registry, options.groups ?? []),
      ...nearMisses(sources, registry.variables)
    ],
    section: name => byName.get(name),
    settings: prefix => listSettings(sections, prefix),
    explain: key => explainSetting(sections, key)
  }
}
