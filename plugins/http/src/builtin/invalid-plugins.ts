import type { KernelAdmin, PluginReport } from '@svc/contracts'

/** Plugin that should run but does not, or whose last change was refused, with the reason. */
export type InvalidPlugin = Pick<PluginReport, 'name' | 'state' | 'why'>

type Admin = Pick<KernelAdmin, 'plugins'> | undefined

const INVALID: ReadonlySet<string> = new Set(['invalid', 'failed', 'quarantined', 'stuck'])

export function invalidPlugins(admin: Admin): InvalidPlugin[] {
  const reports = admin?.plugins() ?? []
  return reports
    .filter(({ state, refused }) => INVALID.has(state) || refused)
    .map(({ name, state, why }) => ({ name, state, why }))
}

/** True for a plugin that does not run. After a refused change, the previous version runs. */
export function isMissing({ state }: InvalidPlugin): boolean {
  return INVALID.has(state)
}

/** Returns the number of plugins in each state, and the plugins whose last change was refused, as Prometheus text. */
export function pluginStates(admin: Admin): string {
  const reports = admin?.plugins() ?? []
  const counts = new Map<string, number>([...INVALID].map(state => [state, 0]))
  for (const { state } of reports) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [
    family(
      'svc_plugins',
      'Plugins by state.',
      [...counts].map(([state, count]) => [`state="${state}"`, count])
    ),
    family(
      'svc_plugin_change_refused',
      'Whether the last change of the plugin was refused, so that its previous version serves.',
      reports.map(({ name, refused }) => [`plugin="${name}"`, refused ? 1 : 0])
    )
  ].join('')
}

function family(name: string, help: string, samples: readonly (readonly [label: string, value: number])[]): string {
  const lines = samples.map(([label, value]) => `${name}{${label}} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join('')}`
}
