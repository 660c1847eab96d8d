import { layout } from './graph-layout.ts'
import type { GraphEdgeLine, GraphNode } from './graph-node.ts'

// Runs in a worker: the layout of some hundred nodes takes longer than a frame.

self.onmessage = ({ data }: MessageEvent<{ id: number; nodes: GraphNode[]; edges: GraphEdgeLine[] }>) => {
  const { id, nodes, edges } = data
  try {
    postMessage({ id, layout: layout(nodes, edges) })
  } catch (error) {
    postMessage({ id, failure: (error as Error).message })
  }
}
