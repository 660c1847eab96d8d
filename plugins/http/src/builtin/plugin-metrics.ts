import type { GenerationView, UnitView } from '@svc/contracts'

interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  read(unit: UnitView): number
}

const FAMILIES: readonly Family[] = [
  {
    name: 'svc_plugin_calls_total',
    type: 'counter',
    help: 'Calls of operations, over every surface.',
    read: ({ stats }) => stats.calls
  },
  {
    name: 'svc_plugin_call_failures_total',
    type: 'counter',
    help: 'Calls that ended with an error.',
    read: ({ stats }) => stats.failures
  },
  {
    name: 'svc_plugin_call_seconds_total',
    type: 'counter',
    help: 'Total time of all calls.',
    read: ({ stats }) => stats.totalMs / 1000
  },
  {
    name: 'svc_plugin_in_flight',
    type: 'gauge',
    help: 'Calls, hook taps and requests in flight.',
    read: ({ inFlight }) => inFlight
  },
  {
    name: 'svc_plugin_degraded',
    type: 'gauge',
    help: 'Whether a breaker is open or an error in the plugin was not handled.',
    read: ({ state }) => (state === 'active' ? 0 : 1)
  }
]

/** Returns the kernel's counters for every plugin, as Prometheus text. Plugin names need no escaping. */
export function pluginMetrics({ units }: GenerationView): string {
  return FAMILIES.map(({ name, type, help, read }) => {
    const samples = [...units.values()].map(unit => `${name}{plugin="${unit.name}"} ${read(unit)}\n`)
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join('')}`
  }).join('')
}
