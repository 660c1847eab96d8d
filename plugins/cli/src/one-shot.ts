import type { ChangeReport, EffectNode, PluginReport } from '@svc/contracts'
import type { Call, PluginManifest } from '@svc/plugin-sdk'

/**
 * True if the process runs a single command, in which only this plugin is active. A daemon is called over another
 * surface.
 */
export function isOneShot(call: Pick<Call, 'surface'>): boolean {
  return call.surface === 'cli'
}

export const NOTHING_SERVES = 'no daemon serves this project; start one with svc daemon start'

/** Reports an active plugin as `resolved`: in a single command, it is active only for that command. */
export function withoutRunState(plugin: PluginReport): PluginReport {
  if (plugin.state !== 'active') return plugin
  return { ...plugin, state: 'resolved', generation: null, inFlight: 0, activateMs: null }
}

/** Adds the settings that were, or would be, written to files to the steps. A single command has no other steps. */
export function withWrittenSettings({ written = [], ...report }: ChangeReport, oneShot: boolean): ChangeReport {
  return { ...report, steps: [...(oneShot ? [] : report.steps), ...written] }
}

/** Returns the declarations in the manifest of a plugin, as a tree. */
export function declaredEffects(name: string, manifest: PluginManifest | undefined): EffectNode {
  const group = (label: string, labels: readonly string[]): EffectNode[] =>
    labels.length === 0 ? [] : [{ label, children: labels.map(each => ({ label: each, children: [] })) }]
  return {
    label: `${name} declares`,
    children: [
      ...group('operations', manifest?.operations.map(({ id }) => id) ?? []),
      ...group('services', manifest?.provides ?? []),
      ...group('points', manifest?.points ?? []),
      ...group('hooks', manifest?.hooks.map(({ id }) => id) ?? []),
      ...group('commands', manifest?.commands.map(({ command }) => command) ?? [])
    ]
  }
}
