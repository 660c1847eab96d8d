import type { GraphLayout } from './graph-layout.ts'
import type { GraphEdgeLine, GraphNode } from './graph-node.ts'

/** Name of the worker's file, inserted by the build. */
declare const GRAPH_WORKER: string

interface TrustedPolicy {
  createScriptURL(url: string): string
}

declare const trustedTypes:
  | { createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedPolicy }
  | undefined

interface Answer {
  readonly id: number
  readonly layout?: GraphLayout
  readonly failure?: string
}

interface Pending {
  readonly resolve: (layout: GraphLayout) => void
  readonly reject: (error: Error) => void
}

const pending = new Map<number, Pending>()
let worker: Worker | undefined
let nextId = 1

/** Places a graph in a worker, so that the page stays responsive. */
export function layoutInWorker(nodes: readonly GraphNode[], edges: readonly GraphEdgeLine[]): Promise<GraphLayout> {
  worker ??= start()
  const id = nextId++
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject })
    worker?.postMessage({ id, nodes, edges })
  })
}

function start(): Worker {
  const url = `/ui/assets/${GRAPH_WORKER}`
  // The content security policy accepts the address of a worker only from this policy.
  const policy =
    typeof trustedTypes === 'undefined'
      ? undefined
      : trustedTypes.createPolicy('svc', { createScriptURL: given => given })
  const created = new Worker(policy === undefined ? url : policy.createScriptURL(url))
  created.onmessage = ({ data: { id, layout, failure } }: MessageEvent<Answer>) => {
    const { resolve, reject } = pending.get(id) ?? {}
    pending.delete(id)
    if (layout === undefined) reject?.(new Error(failure))
    else resolve?.(layout)
  }
  created.onerror = () => {
    for (const { reject } of pending.values()) reject(new Error('the layout of the graph failed'))
    pending.clear()
  }
  return created
}
