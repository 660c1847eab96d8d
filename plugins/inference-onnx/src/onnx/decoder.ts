import type { Activation, DecoderConfig } from '../model-config.ts'
import { addArgmax } from './argmax.ts'
import { Attention } from './attention.ts'
import { stateName } from './cache-layout.ts'
import { type Dimension, type ExternalTensor, OnnxGraph, type Precision, storedType } from './graph.ts'
import { embed, type Linear, linear } from './linear.ts'
import { LinearAttention, type LinearAttentionWeights } from './linear-attention.ts'
import { Norms } from './norms.ts'

/** Norms of a layer; null for those that the family does not have. */
export interface LayerNorms {
  readonly attention: ExternalTensor
  /** Norm of the attention output. */
  readonly attentionOutput: ExternalTensor | null
  readonly feedForward: ExternalTensor
  /** Norm of the feed-forward output. */
  readonly feedForwardOutput: ExternalTensor | null
}

export interface AttentionWeights {
  readonly kind: 'full'
  /** One projection with the concatenated rows of query, key and value, or three. */
  readonly queryKeyValue: Linear | readonly [query: Linear, key: Linear, value: Linear]
  /** Norms of every head's query and key; null for families without them. */
  readonly headNorms: { readonly query: ExternalTensor; readonly key: ExternalTensor } | null
  readonly output: Linear
}

export interface LayerWeights {
  readonly norms: LayerNorms
  readonly mixer: AttentionWeights | LinearAttentionWeights
  /** One projection with the concatenated rows of gate and up, or two. */
  readonly gateUp: Linear | readonly [gate: Linear, up: Linear]
  readonly down: Linear
}

export interface DecoderWeights {
  /** `[vocabulary, hidden]`. */
  readonly embedding: ExternalTensor
  readonly layers: readonly LayerWeights[]
  readonly finalNorm: ExternalTensor
  /** Projection to `[vocabulary]`; if tied, its weight is the embedding. */
  readonly head: Linear
}

/** Interface of a graph: names of cache tensors, source of the lengths, and positions that get logits. */
export interface DecoderSurface {
  /** False for graphs that read each text in one run, and need no keys and values of earlier runs. Default true. */
  readonly cached?: boolean
  pastName(layer: number, half: 'key' | 'value'): string
  presentName(layer: number, half: 'key' | 'value'): string
  /** Names of the dynamic dimensions of the past. */
  readonly pastDimensions: { readonly batch: string; readonly length: string }
  /** Declares the inputs for lengths; returns the names of `seqlens_k` [batch] and `total` [] (both int32). */
  lengths(graph: OnnxGraph): { readonly lastPositions: string; readonly total: string }
  /**
   * Declares the inputs for the positions that get logits. Returns a function that selects their rows from `[batch,
   * sequence, n]`.
   */
  selector(graph: OnnxGraph): (states: string) => string
  readonly logitsShape: readonly Dimension[]
}

/**
 * Interface of graphs that the engine builds.
 *
 * Inputs: `input_ids` int64 [batch, sequence], `last_positions` int32 [batch] (length of the sequence after this run,
 * minus one), `total_length` int32 [] (the largest of those lengths), `logit_positions` int64 [n] (rows of the
 * flattened [batch * sequence] that get logits), and the states of {@link cacheLayout}. Outputs: `logits` float32 [n,
 * vocabulary], in graphs for GPUs `argmax` int64 [n, 1] (see {@link addArgmax}), and the new states, to be bound to the
 * same memory as the past ones.
 */
export const engineSurface: DecoderSurface = {
  pastName: (layer, half) => stateName('past', layer, half),
  presentName: (layer, half) => stateName('present', layer, half),
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

/** Parameters of a decoder's graph. */
export interface DecoderForm {
  /** Default {@link engineSurface}. */
  readonly surface?: DecoderSurface
  /** Precision of weights, activations and the cache; default float32. */
  readonly precision?: Precision
  /** See {@link OnnxGraph.fusedProducts}; default true. */
  readonly fusedProducts?: boolean
  /** True if the result is the state of the selected positions, `embedding`, without a head; default false. */
  readonly embeds?: boolean
  /** True if the graph also computes the argmax; default false. */
  readonly argmax?: boolean
}

/**
 * Builds the ONNX model of a decoder, with ten operators per layer in a plain family. Projections are packed, attention
 * includes the rotary embedding and an in-place cache, and norms include the residual sum. `positions`: maximum length
 * of the context. Logits are always float32.
 *
 * Operators: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
 */
export function buildDecoder(
  config: DecoderConfig,
  weights: DecoderWeights,
  positions: number,
  form: DecoderForm = {}
): Uint8Array {
  const { surface = engineSurface, precision = 'float32', fusedProducts = true, argmax = false } = form
  const graph = new OnnxGraph('decoder', precision, fusedProducts)
  const tokens = graph.input('input_ids', 'int64', ['batch', 'sequence'])
  const select = surface.selector(graph)
  const norms = new Norms(graph, config)
  const attention = new Attention(graph, config, surface, norms, positions)
  const linearAttention = new LinearAttention(graph, config)

  let residual = embed(graph, 'embedded', tokens, weights.embedding)
  if (config.embeddingScale !== 1) {
    residual = graph.node('Mul', [residual, graph.scalar('embedding.scale', config.embeddingScale)], 'embedded.scaled')
  }
  let hidden = ''
  for (const [index, layer] of weights.layers.entries()) {
    const name = (part: string) => `layer.${index}.${part}`
    if (index === 0) hidden = norms.add('normed', residual, layer.norms.attention)
    const { mixer } = layer
    let attended =
      mixer.kind === 'full' ? attention.add(index, mixer, hidden) : linearAttention.add(index, mixer, hidden)
    if (index === weights.layers.length - 1) {
      // Only attention needs all positions. After the last attention, continue with those that get logits.
      attended = select(attended)
      residual = select(residual)
    }
    let projected = linear(graph, name('o'), attended, mixer.output)
    if (layer.norms.attentionOutput !== null) {
      projected = norms.add(name('o.normed'), projected, layer.norms.attentionOutput)
    }
    const between = name('attention.residual')
    const middle = norms.addToSum(name('mlp.normed'), between, [projected, residual], layer.norms.feedForward)
    let fed = feedForward(graph, config, index, layer, middle)
    if (layer.norms.feedForwardOutput !== null) {
      fed = norms.add(name('down.normed'), fed, layer.norms.feedForwardOutput)
    }
    const nextNorm = weights.layers[index + 1]?.norms.attention ?? weights.finalNorm
    hidden = norms.addToSum(name('normed'), name('residual'), [fed, between], nextNorm)
    residual = name('residual')
  }
  if (form.embeds === true) {
    graph.node('Identity', [hidden], 'embedding')
    graph.output('embedding', 'float32', ['logits', config.hiddenSize])
    return graph.toBytes()
  }
  addLogits(graph, config, hidden, weights.head)
  graph.output('logits', 'float32', surface.logitsShape)
  if (argmax) addArgmax(graph, 'logits', surface.logitsShape[0] ?? 1)
  return graph.toBytes()
}

/** Adds the logits in float32, limited by the model's soft cap if it has one. */
function addLogits(graph: OnnxGraph, { logitSoftcap }: DecoderConfig, hidden: string, head: Linear): void {
  if (logitSoftcap === null && graph.precision === 'float32') {
    linear(graph, 'logits', hidden, head)
    return
  }
  const open = linear(graph, 'logits.open', hidden, head)
  if (logitSoftcap === null) {
    graph.node('Cast', [open], 'logits', { to: storedType.float32 })
    return
  }
  const wide = graph.inPrecision(open, graph.precision, 'float32')
  const cap = graph.scalar('logits.cap', logitSoftcap, 'float32')
  const scaled = graph.node('Div', [wide, cap], 'logits.scaled')
  graph.node('Mul', [graph.node('Tanh', [scaled], 'logits.bent'), cap], 'logits')
}

/** Adds down(activation(gate) * up). */
function feedForward(
  graph: OnnxGraph,
  config: DecoderConfig,
  layer: number,
  weights: LayerWeights,
  hidden: string
): string {
  const name = (part: string) => `layer.${layer}.${part}`
  let [gate, up] = [name('gate'), name('up')]
  if ('weight' in weights.gateUp) {
    const both = linear(graph, name('gate_up'), hidden, weights.gateUp)
    const sizes = graph.integers('gate_up.sizes', [config.intermediateSize, config.intermediateSize])
    graph.nodeWithOutputs('Split', [both, sizes], [gate, up], { axis: -1 })
  } else {
    gate = linear(graph, gate, hidden, weights.gateUp[0])
    up = linear(graph, up, hidden, weights.gateUp[1])
  }
  const opened = activate(graph, config.activation, name('gate.open'), gate)
  const product = graph.node('Mul', [opened, up], name('gated'))
  return linear(graph, name('down'), product, weights.down)
}

/**
 * Adds the activation. `QuickGelu` with alpha 1 is x * sigmoid(x): silu in one operator. `FastGelu` equals the
 * approximation of `Gelu`, and also supports bfloat16.
 */
function activate(graph: OnnxGraph, activation: Activation, name: string, input: string): string {
  if (activation === 'silu') return graph.contrib('QuickGelu', [input], [name], { alpha: { float: 1 } })
  if (graph.precision !== 'float32') return graph.contrib('FastGelu', [input], [name])
  return graph.node('Gelu', [input], name, { approximate: 'tanh' })
}
