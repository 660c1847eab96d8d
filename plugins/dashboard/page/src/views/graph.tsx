import type { GraphView as Graph } from '@svc/contracts'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type BindingScope, boundInput, linkAddress, valueAt } from '../bindings.ts'
import { toneOf } from '../format.ts'
import { Empty, ErrorNotice, Loading } from '../parts.tsx'
import { useSource } from '../source.ts'
import type { GraphLayout } from './graph-layout.ts'
import { type GraphEdgeLine, type GraphNode, HEIGHT, shortened } from './graph-node.ts'
import { layoutInWorker } from './graph-thread.ts'
import type { ViewProps } from './view.tsx'

/** A wide graph is drawn smaller, down to this share of its size; then it scrolls. */
const MIN_SCALE = 0.6

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
  const [drawn, setDrawn] = useState<GraphLayout | null>(null)
  const [failure, setFailure] = useState<Error | null>(null)
  useEffect(() => {
    let isCurrent = true
    layoutInWorker(nodes, edges).then(
      found => isCurrent && setDrawn(found),
      error => isCurrent && setFailure(error as Error)
    )
    return () => {
      isCurrent = false
    }
  }, [nodes, edges])
  if (failure !== null) return <ErrorNotice error={failure} />
  if (drawn === null) return <Loading />
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

function arrayAt(output: unknown, path: string): readonly unknown[] {
  const found = valueAt(output, path)
  return Array.isArray(found) ? found : []
}
