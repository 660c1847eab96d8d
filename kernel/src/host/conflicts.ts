import type { ConflictReport, KeyConflict, NameConflict } from '@svc/contracts'
import { isSvcError, type PluginManifest } from '@svc/plugin-sdk'
import type { Kernel } from '../core/kernel.ts'
import type { PluginRecord } from '../core/record.ts'
import type { Discovered } from './discovery.ts'
import type { ResolvedConfig } from './plugin-config.ts'

/** Returns keys that several enabled plugins declare or contribute, and packages with a name that is already used. */
export function conflictsOf(kernel: Kernel, config: ResolvedConfig, { problems }: Discovered): ConflictReport {
  const claims = new Map<string, Set<string>>()
  const claim = (key: string, plugin: string): void => {
    claims.set(key, (claims.get(key) ?? new Set()).add(plugin))
  }
  for (const record of kernel.records.values()) {
    if (record.manifest === null || record.state === 'disabled') continue
    for (const key of declaredKeys(record.manifest)) claim(key, record.name)
  }
  // Keys that a plugin contributes are known only once it ran; then the error names them.
  for (const { error } of kernel.records.values()) {
    if (!isSvcError(error, 'KRN_CONFLICT')) continue
    const { key, owners = [] } = (error.data ?? {}) as { key?: string; owners?: readonly string[] }
    for (const owner of owners) if (key !== undefined) claim(key, owner)
  }
  const keys = [...claims].flatMap(([key, owners]) => (owners.size < 2 ? [] : [keyConflict(key, [...owners], kernel)]))
  return { keys: [...keys, ...settingConflicts(config, kernel)], names: nameConflicts(problems) }
}

function declaredKeys({ operations, commands, provides }: PluginManifest): string[] {
  return [
    ...operations.flatMap(({ id, claims }) => [`operation ${id}`, ...claims]),
    ...commands.map(({ command }) => `command ${command}`),
    ...provides.map(token => `service ${token}`)
  ]
}

function keyConflict(key: string, owners: readonly string[], kernel: Kernel): KeyConflict {
  const claims = owners.map(plugin => ({ plugin, state: kernel.records.get(plugin)?.state ?? 'discovered' }))
  const used = owners.find(plugin => kernel.current.units.has(plugin)) ?? null
  const others = owners.flatMap(plugin => (plugin === used ? [] : (kernel.records.get(plugin) ?? [])))
  return { key, claims, used, detail: others.map(consequence).join('\n') }
}

function consequence({ name, state, why }: PluginRecord): string {
  return `${name} is ${state}${why === null ? '' : `: ${why}`}`
}

/** Tables, settings and environment variables that a plugin declares and that already have another meaning. */
function settingConflicts({ resolved }: ResolvedConfig, kernel: Kernel): KeyConflict[] {
  return resolved.sections.flatMap(({ owner, conflicts }) =>
    conflicts.map(({ key = '', message }) => ({
      key: `setting ${key}`,
      claims: [{ plugin: owner, state: kernel.records.get(owner)?.state ?? 'discovered' }],
      used: null,
      detail: message
    }))
  )
}

function nameConflicts(problems: Discovered['problems']): NameConflict[] {
  return problems.flatMap(({ location, usedInstead }) =>
    usedInstead === undefined ? [] : [{ ...usedInstead, shadowed: location }]
  )
}
