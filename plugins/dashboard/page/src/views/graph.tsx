import dagre from '@dagrejs/dagre'
import type { GraphView as Graph } from '@svc/contracts'
import { useMemo } from 'preact/hooks'
import { type BindingScope, boundInput, linkAddress, valueAt } from '../bindings.ts'
import { toneOf } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import type { ViewProps } from './view.tsx'

const MAX_NODES = 500
const HEIGHT = 34
const CHARACTER = 7.4
const MAX_LABEL = 40
/** A wide graph is drawn smaller, down to this share of its size; then it scrolls. */
const MIN_SCALE = 0.6

export interface GraphNode {
  readonly id: string
  readonly label: string
  readonly state: string
  readonly to: string | null
}

export interface GraphEdgeLine {
  readonly from: string
  readonly to: string
  readonly label: string
  /** Longer text about the edge, shown on hover and read by screen readers. */
  readonly title?: string
}

/** Directed graph from an operation's output. */
export function GraphView({ view, scope, label }: ViewProps<Graph>) {
  const source = useSource(view.operation, boundInput(view.input, scope))
  const output = source.value.value
  const graph = useMemo(() => graphOf(view, output, scope), [output])
  if (source.error.value !== null) return <ErrorNotice error={source.error.value} retry={() => source.refresh()} />
  if (source.loading.value) return <Loading />
  if (graph.nodes.length === 0) return <Empty>{view.empty ?? 'Nothing to draw yet.'}</Empty>
  return <GraphPicture nodes={graph.nodes} edges={graph.edges} label={label} />
}

function graphOf(view: Graph, output: unknown, scope: BindingScope) {
  const {
    id = 'id',
    label = 'label',
    state = 'state',
    from = 'from',
    to = 'to',
    edgeLabel = 'label'
  } = view.fields ?? {}
  return {
    nodes: arrayAt(output, view.nodes).map(
      (row): GraphNode => ({
        id: String(valueAt(row, id)),
        label: String(valueAt(row, label) ?? valueAt(row, id)),
        state: String(valueAt(row, state) ?? ''),
        to: view.open === undefined ? null : linkAddress(view.open, { ...scope, row })
      })
    ),
    edges: arrayAt(output, view.edges).map(
      (row): GraphEdgeLine => ({
        from: String(valueAt(row, from)),
        to: String(valueAt(row, to)),
        label: String(valueAt(row, edgeLabel) ?? '')
      })
    )
  }
}

interface GraphPictureProps {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdgeLine[]
  readonly label: string
}

/** Picture of a directed graph from top to bottom. Its edges follow as text for screen readers. */
export function GraphPicture({ nodes, edges, label }: GraphPictureProps) {
  const drawn = useMemo(() => layout(nodes, edges), [nodes, edges])
  return (
    <section class="graph" aria-label={label} tabIndex={0}>
      {drawn.left > 0 ? <p class="small dim">{`${drawn.left} more nodes are not drawn`}</p> : null}
      <svg
        viewBox={`0 0 ${drawn.width} ${drawn.height}`}
        style={{ width: `${drawn.width}px`, minWidth: `${drawn.width * MIN_SCALE}px` }}
        role="group"
        aria-label={label}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8z" fill="var(--border-strong)" />
          </marker>
        </defs>
        {drawn.edges.map((edge, index) => (
          <g key={index}>
            <path class="edge" d={edge.path} marker-end="url(#arrow)">
              <title>{edge.title}</title>
            </path>
            {edge.label === '' ? null : (
              <text class="edge-label" x={edge.x} y={edge.y} text-anchor="middle">
                {edge.label}
              </text>
            )}
          </g>
        ))}
        {drawn.nodes.map(({ node, x, y, width }) => {
          const shape = (
            <g class={toneOf(node.state)} transform={`translate(${x - width / 2} ${y - HEIGHT / 2})`}>
              <title>{`${node.label} ${node.state}`}</title>
              <rect width={width} height={HEIGHT} rx="6" />
              <text x={width / 2} y={HEIGHT / 2 + 4} text-anchor="middle">
                {shortened(node.label)}
              </text>
            </g>
          )
          return node.to === null ? (
            <g key={node.id}>{shape}</g>
          ) : (
            <a key={node.id} href={node.to}>
              {shape}
            </a>
          )
        })}
      </svg>
      <ul class="visually-hidden">
        {drawn.edges.map((edge, index) => (
          <li key={index}>{`${edge.from} to ${edge.to}: ${edge.title}`}</li>
        ))}
      </ul>
    </section>
  )
}

function layout(all: readonly GraphNode[], lines: readonly GraphEdgeLine[]) {
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

function arrayAt(output: unknown, path: string): readonly unknown[] {
  const found = valueAt(output, path)
  return Array.isArray(found) ? found : []
}

function shortened(text: string): string {
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text
}
