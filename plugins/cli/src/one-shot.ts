import type { ChangeReport, EffectNode, KernelChange, PluginReport } from '@svc/contracts'
import type { Call, PluginManifest } from '@svc/plugin-sdk'

/**
 * Texts for a process that runs one command. Only this plugin is active there; it reads the other plugins from disk. A daemon answers over another surface.
 */
export function runsAlone(call: Pick<Call, 'surface'>): boolean {
  return call.surface === 'cli'
}

export const NOTHING_SERVES = 'no daemon serves this project; svc daemon start starts one'

/** This plugin is active only to answer; that is not a state of the project. */
export function atRest(plugin: PluginReport): PluginReport {
  if (plugin.state !== 'active') return plugin
  return { ...plugin, state: 'resolved', generation: null, inFlight: 0, activateMs: null }
}

/** A change of switches without a server: the written text, or the planned one. */
export function writtenSwitches(report: ChangeReport, change: KernelChange): ChangeReport {
  const lines = (names: readonly string[] = [], enabled: boolean): string[] =>
    names.map(
      name => `plugins.${name}.enabled = ${enabled} ${report.applied ? 'written to' : 'would go into'} svc.toml`
    )
  return { ...report, steps: [...lines(change.enable, true), ...lines(change.disable, false)] }
}

/** Returns the effects that the manifest of a plugin declares. */
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
