import { type DecoderSurface, engineSurface } from '../onnx/decoder.ts'
import { elementType, OnnxGraph, type Precision } from '../onnx/graph.ts'
import { joinGraphs } from './join.ts'
import type { GraphNode, OnnxParts } from './onnx-parts.ts'

/** Names of the inputs and outputs of an exported decoder. */
export interface ExportedNames {
  readonly tokens: string
  /** Null if the graph has no such input; the same holds for positions. */
  readonly mask: string | null
  readonly positions: string | null
  readonly logits: string
  /** Per layer. */
  readonly caches: readonly { readonly key: CacheNames; readonly value: CacheNames }[]
  /** Element type of the caches. */
  readonly precision: Precision
}

export interface CacheNames {
  readonly past: string
  readonly present: string
}

export interface ExportedShape {
  readonly keyValueHeads: number
  readonly headSize: number
}

const halves = ['key', 'value'] as const
/** Operators that compute each output row from one row of their first input. */
const projections = ['MatMul', 'MatMulNBits', 'FusedMatMul']

/** True if attention appends to the cache in place, as `GroupQueryAttention` does. */
export function writesInPlace({ nodes }: OnnxParts, { caches }: ExportedNames): boolean {
  return caches.every(cache => {
    const node = nodes.find(({ outputs }) => outputs.includes(cache.key.present))
    const [, , , key, value] = node?.inputs ?? []
    return node?.operator === 'GroupQueryAttention' && key === cache.key.past && value === cache.value.past
  })
}

/**
 * Adapts an exported decoder to the engine's interface, so that it runs like a graph that the engine built.
 *
 * Mask and positions are computed from lengths; cache inputs and outputs are renamed. A graph that does not append in
 * place returns past and new keys as one tensor. Its past is sliced from the cache before a run; afterwards, the result
 * is concatenated with the rest of the cache. Such a run copies the cache, and has only one sequence. If a projection
 * computes the logits, only the requested rows are computed.
 */
export function adaptGraph(
  parts: OnnxParts,
  names: ExportedNames,
  shape: ExportedShape,
  surface: DecoderSurface = engineSurface
): Uint8Array {
  const [before, beforeLogits, after] = ['before', 'before.logits', 'after'].map(name => new OnnxGraph(name)) as [
    OnnxGraph,
    OnnxGraph,
    OnnxGraph
  ]
  const typeOf = (name: string) => parts.inputs.find(input => input.name === name)?.elementType ?? elementType.int64
  const renamed = new Map([[names.tokens, before.input('input_ids', 'int64', ['batch', 'sequence'])]])
  const lengths = addLengths(before, surface)
  if (names.mask !== null) before.node('Cast', [lengths.mask], names.mask, { to: typeOf(names.mask) })
  if (names.positions !== null) {
    before.node('Cast', [lengths.positions], names.positions, { to: typeOf(names.positions) })
  }
  const inPlace = writesInPlace(parts, names)
  if (!inPlace) {
    before.integers('svc.start', [0])
    before.integers('svc.axis', [2])
    before.integers('svc.capacity', [Number.MAX_SAFE_INTEGER])
  }
  for (const [layer, cache] of names.caches.entries()) {
    for (const half of halves) {
      const { past, present } = cache[half]
      const dimensions = ['batch', shape.keyValueHeads, 'capacity', shape.headSize]
      const state = before.input(surface.pastName(layer, half), names.precision, dimensions)
      const written = after.output(surface.presentName(layer, half), names.precision, dimensions)
      const cut = (name: string, from: string, to: string) =>
        before.node('Slice', [state, from, to, 'svc.axis'], `svc.${name}.${layer}.${half}`)
      const grown = `svc.present.${layer}.${half}`
      renamed.set(past, inPlace ? state : cut('past', 'svc.start', lengths.past))
      renamed.set(present, inPlace ? written : grown)
      if (!inPlace) after.node('Concat', [grown, cut('rest', lengths.end, 'svc.capacity')], written, { axis: 2 })
    }
  }

  const { logits } = names
  const at = parts.nodes.findIndex(node => node.outputs.includes(logits))
  const maker = parts.nodes[at] as GraphNode
  const float = parts.outputs.find(output => output.name === logits)?.elementType === elementType.float32
  const made = float ? 'logits' : 'svc.logits'
  const early = projections.includes(maker.operator) && !parts.nodes.some(node => node.inputs.includes(logits))
  const nodes = [...parts.nodes]
  if (early) {
    const [states = '', ...weights] = maker.inputs
    nodes[at] = { ...maker, inputs: [surface.selector(beforeLogits)(renamed.get(states) ?? states), ...weights] }
    renamed.set(logits, made)
  } else {
    renamed.set(logits, 'svc.logits.all')
    after.node('Identity', [surface.selector(after)('svc.logits.all')], made)
  }
  if (!float) after.node('Cast', [made], 'logits', { to: elementType.float32 })
  after.output('logits', 'float32', surface.logitsShape)
  return joinGraphs(parts, [
    { graph: before },
    { nodes: nodes.slice(0, at), renamed },
    { graph: beforeLogits },
    { nodes: nodes.slice(at), renamed },
    { graph: after }
  ])
}

/** Names of values derived from the sequence lengths. */
interface Lengths {
  /** bool [batch, total]: true for positions with a token. */
  readonly mask: string
  /** int64 [batch, sequence]. */
  readonly positions: string
  /** int64 [1], of the first sequence: number of tokens in the cache before and after the run. */
  readonly past: string
  readonly end: string
}

function addLengths(graph: OnnxGraph, surface: DecoderSurface): Lengths {
  const { lastPositions, total } = surface.lengths(graph)
  const scalar = (name: string, value: number) =>
    graph.constant(name, 'int64', [], new Uint8Array(BigInt64Array.of(BigInt(value)).buffer))
  const [zero, one] = [scalar('svc.zero', 0), scalar('svc.one', 1)]
  const axis = graph.integers('svc.column', [1])
  const wide = (name: string) => graph.node('Cast', [name], `svc.${name}`, { to: elementType.int64 })
  const [last, all] = [wide(lastPositions), wide(total)]
  const column = graph.node('Unsqueeze', [last, axis], 'svc.last')
  const everywhere = graph.node('Range', [zero, all, one], 'svc.everywhere')
  const size = graph.node('Gather', [graph.node('Shape', ['input_ids'], 'svc.size'), one], 'svc.sequence', { axis: 0 })
  const back = graph.node('Sub', [one, size], 'svc.back')
  const end = graph.node('Add', [last, one], 'svc.end')
  return {
    mask: graph.node('LessOrEqual', [everywhere, column], 'svc.mask'),
    positions: graph.node(
      'Add',
      [graph.node('Add', [column, back], 'svc.first'), graph.node('Range', [zero, size, one], 'svc.steps')],
      'svc.positions'
    ),
    past: graph.node('Sub', [end, size], 'svc.past'),
    end
  }
}
