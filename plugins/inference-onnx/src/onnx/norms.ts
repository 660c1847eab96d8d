import type { DecoderConfig } from '../model-config.ts'
import type { ExternalTensor, OnnxGraph } from './graph.ts'

/** Adds root-mean-square norms over the last dimension to a graph. */
export class Norms {
  readonly #graph: OnnxGraph
  readonly #epsilon: { readonly float: number }
  readonly #zeroCentred: boolean

  constructor(graph: OnnxGraph, config: DecoderConfig) {
    this.#graph = graph
    this.#epsilon = { float: config.normEpsilon }
    this.#zeroCentred = config.zeroCentredNorms
  }

  /** Adds the norm of `input`, called `name`. */
  add(name: string, input: string, weight: ExternalTensor): string {
    return this.#graph.node('SimplifiedLayerNormalization', [input, this.#gain(weight)], name, {
      epsilon: this.#epsilon,
      axis: -1,
      stash_type: 1
    })
  }

  /** Adds the norm of a sum, called `name`; the sum itself is called `sum`. */
  addToSum(name: string, sum: string, terms: readonly [string, string], weight: ExternalTensor): string {
    const outputs = [name, '', '', sum]
    return this.#graph.contrib('SkipSimplifiedLayerNormalization', [...terms, this.#gain(weight)], outputs, {
      epsilon: this.#epsilon
    })
  }

  /** Adds the norm of each head of `projection`, `[batch, sequence, heads * headSize]`, called `name`. */
  addToHeads(name: string, projection: string, heads: number, weight: ExternalTensor): string {
    const [headSize] = weight.shape as [number]
    const split = this.#graph.integers(`heads.${heads}.split`, [0, 0, heads, headSize])
    const joined = this.#graph.integers(`heads.${heads}.joined`, [0, 0, heads * headSize])
    const rows = this.#graph.node('Reshape', [projection, split], `${name}.heads`)
    return this.#graph.node('Reshape', [this.add(`${name}.heads.normed`, rows, weight), joined], name)
  }

  /**
   * Returns the factor of a norm. The sum has constant operands, so it is computed once, when the session is created.
   */
  #gain(weight: ExternalTensor): string {
    const graph = this.#graph
    if (!this.#zeroCentred) return graph.weight(weight)
    const values = graph.inPrecision(graph.external(weight), weight.type ?? 'float32', 'float32')
    const one = graph.scalar('norm.centre', 1, 'float32')
    return graph.inPrecision(graph.node('Add', [values, one], `${weight.name}.gain`), 'float32')
  }
}
