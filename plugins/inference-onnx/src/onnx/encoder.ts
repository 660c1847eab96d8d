import type { EncoderActivation, EncoderConfig } from '../embedding/encoder-config.ts'
import type { ExternalTensor, OnnxGraph } from './graph.ts'
import { embed, type Linear, linear } from './linear.ts'

/** Weight and bias of a norm. */
export interface NormWeights {
  readonly weight: ExternalTensor
  readonly bias: ExternalTensor
}

/** Matrix with its bias. */
export interface Dense {
  readonly weight: ExternalTensor
  readonly bias: ExternalTensor
}

export interface EncoderLayerWeights {
  /** Query, key and value. */
  readonly projections: readonly [Dense, Dense, Dense]
  readonly output: Dense
  readonly outputNorm: NormWeights
  readonly inner: Dense
  readonly outer: Dense
  readonly outerNorm: NormWeights
}

export interface EncoderWeights {
  readonly tokens: ExternalTensor
  readonly positions: ExternalTensor
  readonly types: ExternalTensor
  readonly norm: NormWeights
  readonly layers: readonly EncoderLayerWeights[]
  /** Layers of a cross-encoder after the encoder, each followed by tanh except the last; null for an embedder. */
  readonly classifier: readonly Dense[] | null
}

/** Inputs and outputs of an encoder graph; B texts, T tokens. */
export const encoderNames = {
  /** int64 `[B, T]`. */
  tokens: 'tokens',
  /** int64 `[B, T]`. */
  types: 'types',
  /** int64 `[T]`: rows of the table of positions. */
  positions: 'positions',
  /** int32 `[B]`: tokens of each text, which are the first of its row. */
  lengths: 'lengths',
  /** float32 `[B, 1, T]`: weight of each token in the result. */
  poolWeights: 'pool_weights',
  /** float32 `[B, 1, dimensions]`; of a cross-encoder: the logit `[B, 1, 1]`. */
  result: 'result'
} as const

/** Adds an encoder with pooling to a graph. */
export function buildEncoder(graph: OnnxGraph, config: EncoderConfig, weights: EncoderWeights): void {
  const names = encoderNames
  graph.input(names.tokens, 'int64', ['batch', 'sequence'])
  graph.input(names.types, 'int64', ['batch', 'sequence'])
  graph.input(names.positions, 'int64', ['sequence'])
  graph.input(names.lengths, 'int32', ['batch'])
  graph.input(names.poolWeights, 'float32', ['batch', 1, 'sequence'])
  const words = embed(graph, 'embedding.tokens', names.tokens, weights.tokens)
  const positions = embed(graph, 'embedding.positions', names.positions, weights.positions)
  const types = embed(graph, 'embedding.types', names.types, weights.types)
  const placed = graph.node('Add', [words, positions], 'embedding.placed')
  const sum = graph.node('Add', [placed, types], 'embedding.sum')
  let hidden = graph.node('LayerNormalization', [sum, ...norm(graph, weights.norm)], 'embedding', {
    epsilon: { float: config.epsilon },
    axis: -1
  })
  for (const [index, layer] of weights.layers.entries())
    hidden = addLayer(graph, config, `layer.${index}`, hidden, layer)
  const { classifier } = weights
  const [result, size] = classifier === null ? [names.result, config.hiddenSize] : ['pooled', 1]
  let pooled = graph.node('MatMul', [names.poolWeights, hidden], result)
  for (const [index, dense] of (classifier ?? []).entries()) {
    const isLast = index === (classifier as readonly Dense[]).length - 1
    const output = linear(graph, isLast ? names.result : `classifier.${index}`, pooled, asLinear(dense))
    pooled = isLast ? output : graph.node('Tanh', [output], `${output}.tanh`)
  }
  graph.output(names.result, 'float32', ['batch', 1, size])
}

function addLayer(
  graph: OnnxGraph,
  config: EncoderConfig,
  name: string,
  hidden: string,
  layer: EncoderLayerWeights
): string {
  const { hiddenSize, heads } = config
  const weight = { form: 'joined' as const, parts: layer.projections.map(part => part.weight) }
  const joined = linear(graph, `${name}.product`, hidden, { weight, bias: null })
  const biases = layer.projections.map(part => graph.weight(part.bias))
  const bias = graph.node('Concat', biases, `${name}.bias`, { axis: 0 })
  const biased = graph.node('Add', [joined, bias], `${name}.qkv`)
  const parts = ['q', 'k', 'v'].map(part => `${name}.${part}`)
  const sizes = graph.integers('qkv.sizes', [hiddenSize, hiddenSize, hiddenSize])
  graph.nodeWithOutputs('Split', [biased, sizes], parts, { axis: -1 })
  const attention = graph.contrib('MultiHeadAttention', [...parts, '', encoderNames.lengths], [`${name}.attention`], {
    num_heads: heads
  })
  const output = linear(graph, `${name}.output`, attention, { ...asLinear(layer.output), bias: null })
  const attended = addNormed(graph, config, `${name}.attended`, [output, hidden], layer.outputNorm, layer.output)
  const inner = linear(graph, `${name}.inner`, attended, { ...asLinear(layer.inner), bias: null })
  const active = activate(graph, config.activation, inner, graph.weight(layer.inner.bias))
  const outer = linear(graph, `${name}.outer`, active, { ...asLinear(layer.outer), bias: null })
  return addNormed(graph, config, name, [outer, attended], layer.outerNorm, layer.outer)
}

/** Adds the norm of a projection with its bias and the input that skips it. */
function addNormed(
  graph: OnnxGraph,
  { epsilon }: EncoderConfig,
  name: string,
  terms: readonly [string, string],
  weights: NormWeights,
  { bias }: Dense
): string {
  const inputs = [...terms, ...norm(graph, weights), graph.weight(bias)]
  return graph.contrib('SkipLayerNormalization', inputs, [name], { epsilon: { float: epsilon } })
}

function activate(graph: OnnxGraph, activation: EncoderActivation, input: string, bias: string): string {
  const name = `${input}.active`
  if (activation === 'gelu') return graph.contrib('BiasGelu', [input, bias], [name])
  if (activation === 'gelu_tanh') return graph.contrib('FastGelu', [input, bias], [name])
  return graph.node('Relu', [graph.node('Add', [input, bias], `${input}.biased`)], name)
}

function norm(graph: OnnxGraph, { weight, bias }: NormWeights): readonly [string, string] {
  return [graph.weight(weight), graph.weight(bias)]
}

function asLinear({ weight, bias }: Dense): Linear {
  return { weight: { form: 'float', values: weight }, bias }
}
