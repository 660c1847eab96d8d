import type { DecoderConfig } from '../model-config.ts'
import { rotaryTables } from '../rope.ts'
import { type Dimension, type ExternalTensor, OnnxGraph } from './graph.ts'
import { embed, type Linear, type LinearWeight, linear } from './linear.ts'

export interface LayerWeights {
  readonly inputNorm: ExternalTensor
  readonly postAttentionNorm: ExternalTensor
  /** One projection with the rows of query, key and value after each other, or three. */
  readonly queryKeyValue: Linear | readonly [query: Linear, key: Linear, value: Linear]
  readonly output: Linear
  /** One projection with the rows of gate and up after each other, or two. */
  readonly gateUp: Linear | readonly [gate: Linear, up: Linear]
  readonly down: Linear
}

export interface DecoderWeights {
  /** `[vocabulary, hidden]`. */
  readonly embedding: LinearWeight
  readonly layers: readonly LayerWeights[]
  readonly finalNorm: ExternalTensor
  /** To `[vocabulary]`; its weight is the embedding itself where the two are tied. */
  readonly head: Linear
}

/** How a graph meets its caller: names of the cache tensors, where lengths come from, which positions get logits. */
export interface DecoderSurface {
  pastName(layer: number, half: 'key' | 'value'): string
  presentName(layer: number, half: 'key' | 'value'): string
  /** What the changing dimensions of a past are called. */
  readonly pastDimensions: { readonly batch: string; readonly length: string }
  /** Declares the inputs that tell lengths; returns the names of `seqlens_k` [batch] and `total` [] (both int32). */
  lengths(graph: OnnxGraph): { readonly lastPositions: string; readonly total: string }
  /** Declares the inputs that tell which positions get logits; the result takes their rows out of `[batch, sequence, n]`. */
  selector(graph: OnnxGraph): (states: string) => string
  readonly logitsShape: readonly Dimension[]
}

/**
 * The engine's own surface.
 *
 * Inputs: `input_ids` int64 [batch, sequence], `last_positions` int32 [batch] (length of the sequence after this run,
 * minus one), `total_length` int32 [] (the largest of those lengths), `logit_positions` int64 [n] (rows of the flattened
 * [batch * sequence] that get logits), and per layer `past.N.key|value` float32 [batch, kvHeads, capacity, headSize].
 * Outputs: `logits` float32 [n, vocabulary] and `present.N.key|value`, to be bound to the same memory as the past.
 */
export const engineSurface: DecoderSurface = {
  pastName: (layer, half) => `past.${layer}.${half}`,
  presentName: (layer, half) => `present.${layer}.${half}`,
  pastDimensions: { batch: 'batch', length: 'capacity' },
  lengths(graph) {
    return {
      lastPositions: graph.input('last_positions', 'int32', ['batch']),
      total: graph.input('total_length', 'int32', [])
    }
  },
  selector(graph) {
    const positions = graph.input('logit_positions', 'int64', ['logits'])
    return states => {
      const rows = graph.node('Flatten', [states], `${states}.rows`, { axis: 2 })
      return graph.node('Gather', [rows, positions], `${states}.selected`, { axis: 0 })
    }
  },
  logitsShape: ['logits', 'vocabulary']
}

/**
 * The ONNX model of a decoder in float32, with ten operators per layer: packed projections, attention with rotary
 * embedding and an in-place cache, residual sums inside the norms. `positions` bounds the context.
 *
 * Operators: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
 */
export function buildDecoder(
  config: DecoderConfig,
  weights: DecoderWeights,
  positions: number,
  surface: DecoderSurface = engineSurface
): Uint8Array {
  const graph = new OnnxGraph('decoder')
  const tokens = graph.input('input_ids', 'int64', ['batch', 'sequence'])
  const lengths = surface.lengths(graph)
  const select = surface.selector(graph)
  addConstants(graph, config, positions)
  const epsilon = { float: config.normEpsilon }

  let residual = embed(graph, 'embedded', tokens, weights.embedding)
  let hidden = ''
  for (const [index, layer] of weights.layers.entries()) {
    const name = (part: string) => `layer.${index}.${part}`
    if (index === 0) {
      hidden = graph.node('SimplifiedLayerNormalization', [residual, graph.external(layer.inputNorm)], 'normed', {
        epsilon,
        axis: -1,
        stash_type: 1
      })
    }
    let attended = attention(graph, config, surface, index, layer, hidden, lengths)
    if (index === weights.layers.length - 1) {
      // Nothing attends to what follows the last attention, so only positions that get logits go on from there.
      attended = select(attended)
      residual = select(residual)
    }
    const projected = linear(graph, name('o'), attended, layer.output)
    const middle = graph.contrib(
      'SkipSimplifiedLayerNormalization',
      [projected, residual, graph.external(layer.postAttentionNorm)],
      [name('mlp.normed'), '', '', name('attention.residual')],
      { epsilon }
    )
    const fed = feedForward(graph, index, layer, middle)
    const nextNorm = weights.layers[index + 1]?.inputNorm ?? weights.finalNorm
    hidden = graph.contrib(
      'SkipSimplifiedLayerNormalization',
      [fed, name('attention.residual'), graph.external(nextNorm)],
      [name('normed'), '', '', name('residual')],
      { epsilon }
    )
    residual = name('residual')
  }
  linear(graph, 'logits', hidden, weights.head)
  graph.output('logits', 'float32', surface.logitsShape)
  return graph.toBytes()
}

function addConstants(graph: OnnxGraph, config: DecoderConfig, positions: number): void {
  const { cos, sin } = rotaryTables(config.rope, positions)
  const shape = [positions, config.headSize / 2]
  graph.constant('rotary.cos', 'float32', shape, new Uint8Array(cos.buffer))
  graph.constant('rotary.sin', 'float32', shape, new Uint8Array(sin.buffer))
  graph.integers('gate_up.sizes', [config.intermediateSize, config.intermediateSize])
}

const halves = ['key', 'value'] as const

function attention(
  graph: OnnxGraph,
  config: DecoderConfig,
  surface: DecoderSurface,
  layer: number,
  weights: LayerWeights,
  hidden: string,
  lengths: { readonly lastPositions: string; readonly total: string }
): string {
  const name = (part: string) => `layer.${layer}.${part}`
  const source = weights.queryKeyValue
  const projections =
    'weight' in source
      ? [linear(graph, name('qkv'), hidden, source), '', '']
      : source.map((part, index) => linear(graph, name('qkv'[index] as string), hidden, part))
  const { batch, length } = surface.pastDimensions
  const shape = (size: string) => [batch, config.keyValueHeads, size, config.headSize]
  const past = halves.map(half => graph.input(surface.pastName(layer, half), 'float32', shape(length)))
  const present = halves.map(half => graph.output(surface.presentName(layer, half), 'float32', shape('present_length')))
  return graph.contrib(
    'GroupQueryAttention',
    [...projections, ...past, lengths.lastPositions, lengths.total, 'rotary.cos', 'rotary.sin'],
    [name('attention'), ...present],
    {
      num_heads: config.heads,
      kv_num_heads: config.keyValueHeads,
      do_rotary: 1,
      scale: { float: 1 / Math.sqrt(config.headSize) }
    }
  )
}

/** down(silu(gate) * up); `QuickGelu` with alpha 1 is x * sigmoid(x), which is silu in one operator. */
function feedForward(graph: OnnxGraph, layer: number, weights: LayerWeights, hidden: string): string {
  const name = (part: string) => `layer.${layer}.${part}`
  let [gate, up] = [name('gate'), name('up')]
  if ('weight' in weights.gateUp) {
    const both = linear(graph, name('gate_up'), hidden, weights.gateUp)
    graph.nodeWithOutputs('Split', [both, 'gate_up.sizes'], [gate, up], { axis: -1 })
  } else {
    gate = linear(graph, gate, hidden, weights.gateUp[0])
    up = linear(graph, up, hidden, weights.gateUp[1])
  }
  const opened = graph.contrib('QuickGelu', [gate], [name('gate.silu')], { alpha: { float: 1 } })
  const product = graph.node('Mul', [opened, up], name('gated'))
  return linear(graph, name('down'), product, weights.down)
}
