import dagre from '@dagrejs/dagre'
import { CHARACTER, type GraphEdgeLine, type GraphNode, HEIGHT, shortened } from './graph-node.ts'

const MAX_NODES = 500
/** Places of nodes and lines of edges, in pixels. */
export type GraphLayout = ReturnType<typeof layout>

/** Places the first 500 nodes from top to bottom. */
export function layout(all: readonly GraphNode[], lines: readonly GraphEdgeLine[]) {
  const nodes = all.slice(0, MAX_NODES)
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 44, marginx: 16, marginy: 16 })
  const known = new Map(nodes.map(node => [node.id, node]))
  for (const node of nodes)
    graph.setNode(node.id, { width: shortened(node.label).length * CHARACTER + 24, height: HEIGHT })
  const edges = lines
    .map((line, index) => ({ ...line, name: String(index) }))
    .filter(edge => known.has(edge.from) && known.has(edge.to))
  for (const edge of edges) graph.setEdge(edge.from, edge.to, {}, edge.name)
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width: Number.isFinite(width) ? width : 0,
    height: Number.isFinite(height) ? height : 0,
    left: all.length - nodes.length,
    nodes: nodes.map(node => {
      const { x, y, width: w } = graph.node(node.id) as { x: number; y: number; width: number }
      return { node, x, y, width: w }
    }),
    edges: edges.map(edge => {
      const { points = [] } = graph.edge({ v: edge.from, w: edge.to, name: edge.name }) as {
        points?: { x: number; y: number }[]
      }
      const middle = points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 }
      const path = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('')
      const name = (key: string): string => known.get(key)?.label ?? key
      return {
        path,
        x: middle.x,
        y: middle.y - 4,
        label: edge.label,
        title: edge.title ?? edge.label,
        from: name(edge.from),
        to: name(edge.to)
      }
    })
  }
}
