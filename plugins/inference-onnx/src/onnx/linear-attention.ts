import { type LinearAttentionConfig, linearSizes } from '../linear-config.ts'
import type { DecoderConfig } from '../model-config.ts'
import { stateName } from './cache-layout.ts'
import type { ExternalTensor, OnnxGraph } from './graph.ts'
import { type Linear, linear } from './linear.ts'

export interface LinearAttentionWeights {
  readonly kind: 'linear'
  /** Queries, keys and values before the convolution, and the gate of the output: one projection, or two. */
  readonly mixedAndGate: Linear | readonly [mixed: Linear, gate: Linear]
  /** Strength of the writes, and decay of the state: one projection, or two. */
  readonly betaAndDecay: Linear | readonly [beta: Linear, decay: Linear]
  /** `[channels, 1, taps]`. */
  readonly convolution: ExternalTensor
  /** Logarithm of each head's decay rate. */
  readonly decay: ExternalTensor
  readonly timeBias: ExternalTensor
  /** `[valueSize]`. */
  readonly norm: ExternalTensor
  readonly output: Linear
}

/** End of a slice that reaches the end of its axis. */
const END = Number.MAX_SAFE_INTEGER
/** Added to the sum of squares of a query or key, as in the family's reference implementation. */
const L2_EPSILON = 1e-6

/**
 * Adds layers with linear attention to a graph: a short convolution over queries, keys and values, the gated delta rule
 * over a state per head, and a norm that is multiplied by a gate. Nodes for the CPU, in float32.
 *
 * States: `past.N.conv` [batch, 1, taps - 1, channels] and `past.N.recurrent` [batch, valueHeads, keySize, valueSize];
 * the outputs may be bound to the same memory.
 */
export class LinearAttention {
  readonly #graph: OnnxGraph
  readonly #config: DecoderConfig

  constructor(graph: OnnxGraph, config: DecoderConfig) {
    this.#graph = graph
    this.#config = config
  }

  /** Adds a layer over `hidden`, without the output projection: `[batch, sequence, valueHeads * valueSize]`. */
  add(layer: number, weights: LinearAttentionWeights, hidden: string): string {
    const { linear: sizes, normEpsilon } = this.#config
    if (sizes === null) throw new Error(`layer ${layer} has linear attention without parameters`)
    const graph = this.#graph
    const name = (part: string) => `layer.${layer}.linear.${part}`
    const { keys, values, mixed: channels } = linearSizes(sizes)
    const { valueHeads } = sizes

    const [open, gate] = this.#pair(name('mixed'), hidden, weights.mixedAndGate, [channels, values])
    const [beta, decay] = this.#pair(name('beta'), hidden, weights.betaAndDecay, [valueHeads, valueHeads])
    const mixed = this.#convolve(layer, open, weights.convolution, sizes)
    const parts = [name('query_key'), name('value')]
    graph.nodeWithOutputs('Split', [mixed, graph.integers('linear.sizes', [2 * keys, values])], parts, { axis: -1 })
    const [query, key] = this.#normalise(name('query_key'), sizes)

    const rates = graph.node('Neg', [graph.node('Exp', [this.#wide(weights.decay)], name('rates.exp'))], name('rates'))
    const gates = [name('decay'), name('write')]
    graph.contrib('LinearAttentionGate', [decay, this.#wide(weights.timeBias), rates, beta], gates)
    const state = graph.input(stateName('past', layer, 'recurrent'), 'float32', [
      'batch',
      valueHeads,
      sizes.keySize,
      sizes.valueSize
    ])
    const present = graph.output(stateName('present', layer, 'recurrent'), 'float32', [
      'batch',
      valueHeads,
      sizes.keySize,
      sizes.valueSize
    ])
    const attended = graph.contrib(
      'LinearAttention',
      [query, key, name('value'), state, ...gates],
      [name('attended'), present],
      {
        q_num_heads: sizes.keyHeads,
        kv_num_heads: valueHeads,
        update_rule: 'gated_delta',
        scale: { float: 1 / Math.sqrt(sizes.keySize) }
      }
    )
    const heads = graph.integers('linear.heads', [0, 0, valueHeads, sizes.valueSize])
    const joined = graph.integers('linear.joined', [0, 0, values])
    const rows = graph.node('Reshape', [attended, heads], name('attended.heads'))
    const normed = graph.node(
      'SimplifiedLayerNormalization',
      [rows, this.#wide(weights.norm)],
      name('attended.normed'),
      {
        epsilon: { float: normEpsilon },
        axis: -1,
        stash_type: 1
      }
    )
    const flat = graph.node('Reshape', [normed, joined], name('attended.flat'))
    const opened = graph.contrib('QuickGelu', [gate], [name('gate.open')], { alpha: { float: 1 } })
    return graph.node('Mul', [flat, opened], name('attended.gated'))
  }

  /** Adds a projection of two parts, or two projections; returns the names of both parts. */
  #pair(
    name: string,
    hidden: string,
    source: Linear | readonly [Linear, Linear],
    sizes: readonly [number, number]
  ): readonly [string, string] {
    const names = [`${name}.first`, `${name}.second`] as const
    if ('weight' in source) {
      const both = linear(this.#graph, name, hidden, source)
      const split = this.#graph.integers(`sizes.${sizes.join('.')}`, sizes)
      this.#graph.nodeWithOutputs('Split', [both, split], names, { axis: -1 })
    } else {
      for (const [i, part] of source.entries()) linear(this.#graph, names[i] as string, hidden, part)
    }
    return names
  }

  /**
   * Adds the convolution over the last positions, as one product per tap, and the state with its last inputs. The
   * activation is silu.
   */
  #convolve(layer: number, input: string, weight: ExternalTensor, { taps, ...sizes }: LinearAttentionConfig): string {
    const graph = this.#graph
    const name = (part: string) => `layer.${layer}.conv.${part}`
    const channels = linearSizes({ taps, ...sizes }).mixed
    const shape = ['batch', 1, taps - 1, channels]
    const past = graph.input(stateName('past', layer, 'conv'), 'float32', shape)
    const present = graph.output(stateName('present', layer, 'conv'), 'float32', shape)
    const axis = graph.integers('conv.axis', [2])
    const flat = graph.integers('conv.flat', [1])
    const rows = graph.node('Unsqueeze', [input, flat], name('rows'))
    const all = graph.node('Concat', [past, rows], name('all'), { axis: 2 })
    const slice = (from: number, to: number, output: string) =>
      graph.node(
        'Slice',
        [all, graph.integers(`conv.from.${from}`, [from]), graph.integers(`conv.to.${to}`, [to]), axis],
        output
      )
    slice(1 - taps, END, present)
    // The taps are constant, so their vectors are computed once, when the session is created.
    const matrix = graph.node(
      'Transpose',
      [graph.node('Reshape', [this.#wide(weight), graph.integers('conv.matrix', [channels, taps])], name('matrix'))],
      name('taps')
    )
    const vectors = Array.from({ length: taps }, (_, tap) => name(`tap.${tap}`))
    graph.nodeWithOutputs('Split', [matrix, graph.integers('conv.ones', Array(taps).fill(1))], vectors, { axis: 0 })
    let sum = ''
    for (const [tap, vector] of vectors.entries()) {
      const end = tap - (taps - 1)
      const seen = slice(tap, end === 0 ? END : end, name(`seen.${tap}`))
      const product = graph.node('Mul', [seen, vector], name(`product.${tap}`))
      sum = tap === 0 ? product : graph.node('Add', [sum, product], name(`sum.${tap}`))
    }
    const joined = graph.node('Squeeze', [sum, flat], name('joined'))
    return graph.contrib('QuickGelu', [joined], [name('active')], { alpha: { float: 1 } })
  }

  /** Scales each head of queries and keys to length 1; returns the names of queries and keys. */
  #normalise(both: string, sizes: LinearAttentionConfig): readonly [string, string] {
    const graph = this.#graph
    const { keyHeads, keySize } = sizes
    const { keys } = linearSizes(sizes)
    const split = graph.integers('linear.keys', [0, 0, 2 * keyHeads, keySize])
    const joined = graph.integers('linear.keys.joined', [0, 0, 2 * keys])
    // The root mean square norm of n values is their L2 norm divided by the square root of n.
    const gain = new Uint8Array(new Float32Array(keySize).fill(1 / Math.sqrt(keySize)).buffer)
    const rows = graph.node('Reshape', [both, split], `${both}.heads`)
    const normed = graph.node(
      'SimplifiedLayerNormalization',
      [rows, graph.constant('linear.length', 'float32', [keySize], gain)],
      `${both}.normed`,
      { epsilon: { float: L2_EPSILON / keySize }, axis: -1, stash_type: 1 }
    )
    const flat = graph.node('Reshape', [normed, joined], `${both}.flat`)
    const names = [`${both}.query`, `${both}.key`] as const
    graph.nodeWithOutputs('Split', [flat, graph.integers('linear.halves', [keys, keys])], names, { axis: -1 })
    return names
  }

  #wide(tensor: ExternalTensor): string {
    return this.#graph.inPrecision(this.#graph.external(tensor), tensor.type ?? 'float32', 'float32')
  }
}
