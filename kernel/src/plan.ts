import type { PluginManifest } from '@svc/plugin-sdk'
import type { Graph } from './graph.ts'

/** What decides whether a unit may stay. */
export interface Fingerprinted {
  readonly manifest: PluginManifest
  /** Code, settings and policy together. */
  readonly fingerprint: string
}

export interface RunningUnit extends Fingerprinted {
  /** Token to the name of the plugin that it was resolved from. */
  readonly bindings: ReadonlyMap<string, string>
}

export interface Plan {
  /** Providers before users; likewise `replace`. */
  readonly add: readonly string[]
  readonly replace: readonly string[]
  /** Users before providers. */
  readonly remove: readonly string[]
  readonly keep: readonly string[]
  /** One line per unit that changes, with the reason. */
  readonly steps: readonly string[]
}

/**
 * Compares what runs with what is wanted.
 *
 * A unit is replaced when its own fingerprint differs, when it is forced, or when a service that it holds (not a
 * reference) comes from a unit that is added, replaced or removed.
 */
export function planChange(
  running: ReadonlyMap<string, RunningUnit>,
  desired: ReadonlyMap<string, Fingerprinted>,
  graph: Graph,
  forced: ReadonlySet<string>
): Plan {
  const reasons = new Map<string, string>()
  const wanted = graph.order.filter(name => desired.has(name))
  for (const name of wanted) {
    const now = running.get(name)
    if (now === undefined) reasons.set(name, `add ${name}`)
    else if (forced.has(name)) reasons.set(name, `replace ${name}: asked for`)
    else if (now.fingerprint !== desired.get(name)?.fingerprint)
      reasons.set(name, `replace ${name}: its code or settings changed`)
  }
  // Order is topological, so one pass carries a replacement to all who hold the service.
  for (const name of wanted) {
    if (reasons.has(name)) continue
    const cause = changedBinding(name, running, graph, reasons)
    if (cause !== undefined) reasons.set(name, `replace ${name}: ${cause}`)
  }
  const remove = [...running.keys()].filter(name => !wanted.includes(name)).reverse()
  const add = wanted.filter(name => !running.has(name))
  const replace = wanted.filter(name => running.has(name) && reasons.has(name))
  return {
    add,
    replace,
    remove,
    keep: wanted.filter(name => !reasons.has(name)),
    steps: [
      ...wanted.flatMap(name => reasons.get(name) ?? []),
      ...remove.map(name => `remove ${name}: ${graph.blocked.get(name)?.reason ?? 'disabled or gone'}`)
    ]
  }
}

function changedBinding(
  name: string,
  running: ReadonlyMap<string, RunningUnit>,
  graph: Graph,
  reasons: ReadonlyMap<string, string>
): string | undefined {
  const bindings = running.get(name)?.bindings ?? new Map<string, string>()
  const refs = new Set(graph.edges.filter(edge => edge.from === name && edge.kind === 'ref').map(edge => edge.token))
  for (const edge of graph.edges) {
    if (edge.from !== name || (edge.kind !== 'requires' && edge.kind !== 'optional') || refs.has(edge.token)) continue
    const provider = edge.to !== null && graph.blocked.has(edge.to) ? undefined : (edge.to ?? undefined)
    if (provider !== bindings.get(edge.token)) return `${edge.token} now comes from ${provider ?? 'nobody'}`
    if (provider !== undefined && reasons.has(provider)) return `it holds ${edge.token} of ${provider}`
  }
  return undefined
}
