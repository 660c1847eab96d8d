import type { PluginManifest } from '@svc/plugin-sdk'
import type { Graph } from './graph.ts'

/** Manifest and fingerprint, which decide whether a unit may stay. */
export interface Fingerprinted {
  readonly manifest: PluginManifest
  /** Fingerprint of code, settings and policy. */
  readonly fingerprint: string
}

export interface RunningUnit extends Fingerprinted {
  /** Provider of each held service, by token. */
  readonly bindings: ReadonlyMap<string, string>
}

export interface Plan {
  /** Plugins to add, providers before users; `replace` has the same order. */
  readonly add: readonly string[]
  readonly replace: readonly string[]
  /** Plugins to remove, users before providers. */
  readonly remove: readonly string[]
  readonly keep: readonly string[]
  /** One line for each unit that changes, with the reason. */
  readonly steps: readonly string[]
}

/**
 * Compares the running units with the desired ones.
 *
 * A unit is replaced if its fingerprint differs, if it is forced, or if a service that it holds (not a reference) comes
 * from a unit that is added, replaced or removed.
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
    else if (forced.has(name)) reasons.set(name, `replace ${name}: requested`)
    else if (now.fingerprint !== desired.get(name)?.fingerprint)
      reasons.set(name, `replace ${name}: its code or settings changed`)
  }
  const held = heldServices(graph, new Set(['kernel', ...wanted]))
  // The order is topological, so one pass propagates a replacement to all holders of a service.
  for (const name of wanted) {
    if (reasons.has(name)) continue
    const cause = changedBinding(held.get(name) ?? [], running.get(name)?.bindings ?? NOTHING, reasons)
    if (cause !== undefined) reasons.set(name, `replace ${name}: ${cause}`)
  }
  const remove = [...running.keys()].filter(name => !desired.has(name) || graph.blocked.has(name)).reverse()
  const add = wanted.filter(name => !running.has(name))
  const replace = wanted.filter(name => running.has(name) && reasons.has(name))
  return {
    add,
    replace,
    remove,
    keep: wanted.filter(name => !reasons.has(name)),
    steps: [
      ...wanted.flatMap(name => reasons.get(name) ?? []),
      ...remove.map(name => `remove ${name}: ${graph.blocked.get(name)?.reason ?? 'disabled or removed'}`)
    ]
  }
}

interface Held {
  readonly token: string
  readonly provider: string | undefined
}

const NOTHING: ReadonlyMap<string, string> = new Map()

/** Returns the services that each plugin receives at activation, with their providers. Excludes references. */
function heldServices({ edges }: Graph, present: ReadonlySet<string>): Map<string, Held[]> {
  const held = new Map<string, Held[]>()
  const refs = new Set(edges.filter(edge => edge.kind === 'ref').map(edge => `${edge.from} ${edge.token}`))
  for (const { from, to, token, kind } of edges) {
    if ((kind !== 'requires' && kind !== 'optional') || refs.has(`${from} ${token}`)) continue
    const list = held.get(from) ?? []
    list.push({ token, provider: to !== null && present.has(to) ? to : undefined })
    held.set(from, list)
  }
  return held
}

function changedBinding(
  held: readonly Held[],
  bindings: ReadonlyMap<string, string>,
  reasons: ReadonlyMap<string, string>
): string | undefined {
  for (const { token, provider } of held) {
    if (provider !== bindings.get(token))
      return `${token} ${provider === undefined ? 'has no provider now' : `now comes from ${provider}`}`
    if (provider !== undefined && reasons.has(provider)) return `it holds ${token} of ${provider}`
  }
  return undefined
}
