import { isSchedulable, type RemoteNode } from '@svc/contracts'
import type { Transferable } from '../state/ports.ts'

/** Facts about the schedulable nodes, computed once per update. A node that several sources list counts once. */
interface Summary {
  readonly schedulable: number
  readonly withGpu: number
  /** Largest GPU memory of one schedulable node in MiB; null if no source lists any node. */
  readonly maxVramMb: number | null
}

const NONE: Summary = { schedulable: 0, withGpu: 0, maxVramMb: null }

/** The machines on which tasks may be placed, as each source listed them last. */
export class RemoteNodes implements Transferable {
  readonly #sources = new Map<string, readonly RemoteNode[]>()
  #summary = NONE

  /** Number of schedulable nodes. */
  get schedulable(): number {
    return this.#summary.schedulable
  }

  /** Number of schedulable nodes with a GPU. */
  get withGpu(): number {
    return this.#summary.withGpu
  }

  get maxVramMb(): number | null {
    return this.#summary.maxVramMb
  }

  /** Replaces the nodes of one source. */
  set(source: string, nodes: readonly RemoteNode[]): void {
    if (nodes.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, nodes.map(copyOf))
    this.#summary = summarise(this.#sources.values())
  }

  all(): readonly (RemoteNode & { readonly source: string })[] {
    return [...this.#sources].flatMap(([source, nodes]) => nodes.map(node => ({ ...node, source })))
  }

  exportState(): unknown {
    return this.#sources
  }

  importState(state: unknown): void {
    for (const [source, nodes] of state as ReadonlyMap<string, readonly RemoteNode[]>) this.set(source, nodes)
  }
}

function copyOf(node: RemoteNode): RemoteNode {
  const { node_id, capabilities, labels, has_gpu, maintenance, quarantined, heartbeat_stale } = node
  return { node_id, capabilities, labels: [...labels], has_gpu, maintenance, quarantined, heartbeat_stale }
}

function summarise(sources: Iterable<readonly RemoteNode[]>): Summary {
  const schedulable = new Map<string, RemoteNode>()
  let isEmpty = true
  for (const nodes of sources) {
    for (const node of nodes) {
      isEmpty = false
      if (isSchedulable(node)) schedulable.set(node.node_id, node)
    }
  }
  if (isEmpty) return NONE
  let withGpu = 0
  let maxVramMb = 0
  for (const { has_gpu, capabilities } of schedulable.values()) {
    if (has_gpu) withGpu += 1
    maxVramMb = Math.max(maxVramMb, capabilities.min_vram_mb ?? 0)
  }
  return { schedulable: schedulable.size, withGpu, maxVramMb }
}
