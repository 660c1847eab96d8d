import type { KernelAdmin, PluginReport } from '@svc/contracts'

/** Plugin that should run but does not, with the reason. */
export type InvalidPlugin = Pick<PluginReport, 'name' | 'state' | 'why'>

const INVALID: ReadonlySet<string> = new Set(['invalid', 'failed', 'quarantined', 'stuck'])

export function invalidPlugins(admin: Pick<KernelAdmin, 'plugins'> | undefined): InvalidPlugin[] {
  const reports = admin?.plugins() ?? []
  return reports.filter(({ state }) => INVALID.has(state)).map(({ name, state, why }) => ({ name, state, why }))
}

/** Returns the number of plugins in each state, as Prometheus text. */
export function pluginStates(admin: Pick<KernelAdmin, 'plugins'> | undefined): string {
  const counts = new Map<string, number>([...INVALID].map(state => [state, 0]))
  for (const { state } of admin?.plugins() ?? []) counts.set(state, (counts.get(state) ?? 0) + 1)
  const samples = [...counts].map(([state, count]) => `svc_plugins{state="${state}"} ${count}\n`)
  return `# HELP svc_plugins Plugins by state.\n# TYPE svc_plugins gauge\n${samples.join('')}`
}
