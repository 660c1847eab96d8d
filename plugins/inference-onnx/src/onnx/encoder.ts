import type { EncoderActivation, EncoderConfig } from '../embedding/encoder-config.ts'
import { biasOf, type Dense } from './dense.ts'
import { EncoderAttention } from './encoder-attention.ts'
import type { ExternalTensor, OnnxGraph } from './graph.ts'
import { embed, linear } from './linear.ts'

/** Weight and bias of a norm. */
export interface NormWeights {
  readonly weight: ExternalTensor
  readonly bias: ExternalTensor | null
}

export interface EncoderLayerWeights {
  /** Rows of query, key and value. */
  readonly projections: Dense
  readonly output: Dense
  readonly outputNorm: NormWeights
  /** Rows of a gated layer are those of the gate, then those of the input that it scales. */
  readonly inner: Dense
  readonly outer: Dense
  readonly outerNorm: NormWeights
}

export interface ClassifierWeights {
  readonly hidden: Dense
  /** Norm after the activation. */
  readonly norm: NormWeights | null
  readonly output: Dense
}

export interface EncoderWeights {
  readonly tokens: ExternalTensor
  readonly positions: ExternalTensor | null
  readonly types: ExternalTensor | null
  /** `[buckets, heads]`: what is added to the scores of two tokens at a distance. */
  readonly relative: ExternalTensor | null
  readonly norm: NormWeights
  readonly layers: readonly EncoderLayerWeights[]
  /** Layers of a cross-encoder after the encoder; null for an embedder. */
  readonly classifier: ClassifierWeights | null
}

/** Inputs and outputs of an encoder graph; B texts, T tokens. */
export const encoderNames = {
  /** int64 `[B, T]`. */
  tokens: 'tokens',
  /** int64 `[B, T]`; absent without a table of segments. */
  types: 'types',
  /** int64 `[T]`: rows of the table of positions; absent without such a table. */
  positions: 'positions',
  /** int32 `[B]`: tokens of each text, which are the first of its row. */
  lengths: 'lengths',
  /** float32 `[B, 1, T]`: weight of each token in the result. */
  poolWeights: 'pool_weights',
  /** float32 `[B, 1, dimensions]`; of a cross-encoder: the logit `[B, 1, 1]`. */
  result: 'result'
} as const

/** Output of a norm, and its input: the sum that the next part adds to in models that norm first. */
interface Normed {
  readonly normed: string
  readonly sum: string
}

/** Adds an encoder with pooling to a graph. `contextLength`: tokens of the longest text. */
export function buildEncoder(
  graph: OnnxGraph,
  config: EncoderConfig,
  weights: EncoderWeights,
  contextLength: number
): void {
  new EncoderBuilder(graph, config, weights, contextLength).build()
}

class EncoderBuilder {
  readonly #graph: OnnxGraph
  readonly #config: EncoderConfig
  readonly #weights: EncoderWeights
  readonly #contextLength: number

  constructor(graph: OnnxGraph, config: EncoderConfig, weights: EncoderWeights, contextLength: number) {
    this.#graph = graph
    this.#config = config
    this.#weights = weights
    this.#contextLength = contextLength
  }

  build(): void {
    const graph = this.#graph
    const names = encoderNames
    const tokens = graph.input(names.tokens, 'int64', ['batch', 'sequence'])
    const lengths = graph.input(names.lengths, 'int32', ['batch'])
    const poolWeights = graph.input(names.poolWeights, 'float32', ['batch', 1, 'sequence'])
    const attention = new EncoderAttention(graph, this.#config, {
      tokens,
      lengths,
      relative: this.#weights.relative,
      contextLength: this.#contextLength
    })
    const embedded = this.#norm('embedding', this.#embeddings(tokens), this.#weights.norm)
    let hidden: Normed = { normed: embedded, sum: embedded }
    for (const [index, layer] of this.#weights.layers.entries()) {
      hidden = this.#layer(index, hidden, layer, attention)
    }
    const { classifier } = this.#weights
    const [result, size] = classifier === null ? [names.result, this.#config.hiddenSize] : ['pooled', 1]
    const pooled = graph.node('MatMul', [poolWeights, hidden.normed], result)
    if (classifier !== null) this.#classify(pooled, classifier)
    graph.output(names.result, 'float32', ['batch', 1, size])
  }

  #embeddings(tokens: string): string {
    const graph = this.#graph
    const { positions, types, tokens: table } = this.#weights
    let sum = embed(graph, 'embedding.tokens', tokens, table)
    if (positions !== null) {
      const rows = graph.input(encoderNames.positions, 'int64', ['sequence'])
      sum = graph.node('Add', [sum, embed(graph, 'embedding.positions', rows, positions)], 'embedding.placed')
    }
    if (types !== null) {
      const rows = graph.input(encoderNames.types, 'int64', ['batch', 'sequence'])
      sum = graph.node('Add', [sum, embed(graph, 'embedding.types', rows, types)], 'embedding.sum')
    }
    return sum
  }

  #layer(index: number, hidden: Normed, layer: EncoderLayerWeights, attention: EncoderAttention): Normed {
    const graph = this.#graph
    const name = `layer.${index}`
    const attended = attention.add(index, hidden.normed, layer.projections)
    const output = this.#product(`${name}.output`, attended, layer.output)
    const middle = this.#addNormed(`${name}.attended`, output, hidden, layer.outputNorm, layer.output)
    const inner = this.#product(`${name}.inner`, middle.normed, layer.inner)
    const bias = biasOf(graph, `${name}.inner.bias`, layer.inner)
    const active = this.#config.traits.gated
      ? this.#gate(name, bias === null ? inner : graph.node('Add', [inner, bias], `${name}.inner.biased`))
      : activate(graph, this.#config.activation, inner, bias)
    const outer = this.#product(`${name}.outer`, active, layer.outer)
    return this.#addNormed(name, outer, middle, layer.outerNorm, layer.outer)
  }

  /** Splits `[gate, input]`, and scales the input by the activated gate. */
  #gate(name: string, inner: string): string {
    const graph = this.#graph
    const { innerSize, activation } = this.#config
    const [gate, up] = [`${name}.gate`, `${name}.up`]
    graph.nodeWithOutputs('Split', [inner, graph.integers('gate.sizes', [innerSize, innerSize])], [gate, up], {
      axis: -1
    })
    return graph.node('Mul', [activate(graph, activation, gate, null), up], `${name}.gated`)
  }

  /** Adds a product without its bias. */
  #product(name: string, input: string, { weight }: Dense): string {
    return linear(this.#graph, name, input, { weight, bias: null })
  }

  /** Adds the norm of a projection with its bias and the input that skips it. */
  #addNormed(name: string, projection: string, skipped: Normed, weights: NormWeights, dense: Dense): Normed {
    const graph = this.#graph
    const bias = biasOf(graph, `${name}.bias`, dense)
    const { epsilon, traits } = this.#config
    const residual = traits.normsFirst ? skipped.sum : skipped.normed
    const inputs = present([projection, residual, ...norm(graph, weights), bias ?? ''])
    const sum = `${name}.sum`
    graph.contrib('SkipLayerNormalization', inputs, traits.normsFirst ? [name, '', '', sum] : [name], {
      epsilon: { float: epsilon }
    })
    return { normed: name, sum }
  }

  #norm(name: string, input: string, weights: NormWeights): string {
    return this.#graph.node('LayerNormalization', present([input, ...norm(this.#graph, weights)]), name, {
      epsilon: { float: this.#config.epsilon },
      axis: -1
    })
  }

  #classify(pooled: string, weights: ClassifierWeights): void {
    const graph = this.#graph
    const product = this.#product('classifier.hidden', pooled, weights.hidden)
    const bias = biasOf(graph, 'classifier.hidden.bias', weights.hidden)
    const active = activate(graph, this.#config.classifierActivation, product, bias)
    const hidden = weights.norm === null ? active : this.#norm('classifier.normed', active, weights.norm)
    const output = this.#product('classifier.output', hidden, weights.output)
    const [last] = weights.output.bias as readonly [ExternalTensor]
    graph.node('Add', [output, graph.weight(last)], encoderNames.result)
  }
}

/** Adds an activation, after a bias if there is one. */
function activate(
  graph: OnnxGraph,
  activation: EncoderActivation | 'tanh',
  input: string,
  bias: string | null
): string {
  const name = `${input}.active`
  if (activation === 'gelu' && bias !== null) return graph.contrib('BiasGelu', [input, bias], [name])
  if (activation === 'gelu_tanh') return graph.contrib('FastGelu', bias === null ? [input] : [input, bias], [name])
  const biased = bias === null ? input : graph.node('Add', [input, bias], `${input}.biased`)
  if (activation === 'silu') return graph.contrib('QuickGelu', [biased], [name], { alpha: { float: 1 } })
  return graph.node({ gelu: 'Gelu', relu: 'Relu', tanh: 'Tanh' }[activation], [biased], name)
}

/** Returns the inputs of an operator without absent ones at the end. */
function present(inputs: readonly string[]): readonly string[] {
  return inputs.slice(0, inputs.findLastIndex(input => input !== '') + 1)
}

function norm(graph: OnnxGraph, { weight, bias }: NormWeights): readonly [string, string] {
  return [graph.weight(weight), bias === null ? '' : graph.weight(bias)]
}
