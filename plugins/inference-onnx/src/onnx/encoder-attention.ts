import type { EncoderConfig, LayerAttention } from '../embedding/encoder-config.ts'
import { rotaryTables } from '../rope.ts'
import { biasOf, type Dense } from './dense.ts'
import type { ExternalTensor, OnnxGraph } from './graph.ts'
import { linear } from './linear.ts'

/** Added to the score of tokens outside of a window. */
const HIDDEN_SCORE = -1e9
/** Distance from which all relative positions share a bucket. */
const MAX_DISTANCE = 128

interface Options {
  /** Name of the tokens: int64 `[batch, sequence]`. */
  readonly tokens: string
  /** Name of the lengths: int32 `[batch]`. */
  readonly lengths: string
  readonly relative: ExternalTensor | null
  /** Tokens of the longest text. */
  readonly contextLength: number
}

/** Adds the bidirectional attention of each layer to a graph. */
export class EncoderAttention {
  readonly #graph: OnnxGraph
  readonly #config: EncoderConfig
  readonly #options: Options
  readonly #relativeBias: string | null
  readonly #windows = new Set<number>()
  #distances: string | null = null

  constructor(graph: OnnxGraph, config: EncoderConfig, options: Options) {
    this.#graph = graph
    this.#config = config
    this.#options = options
    this.#relativeBias = options.relative === null ? null : this.#addRelativeBias(options.relative)
  }

  /** Adds the attention over `hidden`, without the output projection: `[batch, sequence, hiddenSize]`. */
  add(index: number, hidden: string, projections: Dense): string {
    const graph = this.#graph
    const { hiddenSize, heads, layers } = this.#config
    const layer = layers[index] as LayerAttention
    const name = `layer.${index}`
    const joined = linear(graph, `${name}.product`, hidden, { weight: projections.weight, bias: null })
    const bias = biasOf(graph, `${name}.projections.bias`, projections)
    const biased = bias === null ? joined : graph.node('Add', [joined, bias], `${name}.qkv`)
    const parts = ['q', 'k', 'v'].map(part => `${name}.${part}`)
    const sizes = graph.integers('qkv.sizes', [hiddenSize, hiddenSize, hiddenSize])
    graph.nodeWithOutputs('Split', [biased, sizes], parts, { axis: -1 })
    const [query, key, value] = parts as [string, string, string]
    const { theta } = layer
    const rotated = theta === null ? [query, key] : [query, key].map(part => this.#rotate(part, theta))
    const scores = layer.window === null ? this.#relativeBias : this.#addWindow(layer.window)
    const inputs = [...rotated, value, '', this.#options.lengths, ...(scores === null ? [] : [scores])]
    return graph.contrib('MultiHeadAttention', inputs, [`${name}.attention`], { num_heads: heads })
  }

  #rotate(input: string, theta: number): string {
    const graph = this.#graph
    const { hiddenSize, heads } = this.#config
    const size = hiddenSize / heads
    const positions = this.#options.contextLength
    const inverseFrequencies = Array.from({ length: size / 2 }, (_, pair) => theta ** ((-2 * pair) / size))
    const { cos, sin } = rotaryTables({ inverseFrequencies, magnitude: 1, long: null }, positions)
    const table = (part: string, values: Float32Array) =>
      graph.constant(`rotary.${theta}.${part}`, 'float32', [positions, size / 2], new Uint8Array(values.buffer))
    const start = graph.integers('rotary.start', [0])
    return graph.contrib('RotaryEmbedding', [input, start, table('cos', cos), table('sin', sin)], [`${input}.rotated`])
  }

  /** Adds the bias of relative positions: `[1, heads, sequence, sequence]`. */
  #addRelativeBias(table: ExternalTensor): string {
    const graph = this.#graph
    const { contextLength } = this.#options
    const [buckets = 0] = table.shape
    const rows = Array.from({ length: 2 * contextLength - 1 }, (_, at) => bucketOf(at - contextLength + 1, buckets))
    const offset = graph.integers('relative.offset', [contextLength - 1])
    const places = graph.node('Add', [this.#addDistances(), offset], 'relative.places')
    const chosen = graph.node('Gather', [graph.integers('relative.buckets', rows), places], 'relative.rows')
    const byHead = graph.node('Transpose', [graph.weight(table)], 'relative.by_head')
    const bias = graph.node('Gather', [byHead, chosen], 'relative.heads', { axis: 1 })
    return graph.node('Unsqueeze', [bias, graph.integers('relative.axis', [0])], 'relative.bias')
  }

  /** Adds a bias that hides tokens at a distance of more than `window`: `[1, 1, sequence, sequence]`. */
  #addWindow(window: number): string {
    const graph = this.#graph
    const name = `window.${window}`
    if (this.#windows.has(window)) return `${name}.bias`
    this.#windows.add(window)
    const far = graph.node(
      'Greater',
      [graph.node('Abs', [this.#addDistances()], `${name}.distance`), graph.integers(`${name}.limit`, [window])],
      `${name}.far`
    )
    const scores = graph.node(
      'Where',
      [far, graph.scalar('window.hidden', HIDDEN_SCORE), graph.scalar('window.seen', 0)],
      `${name}.scores`
    )
    return graph.node('Unsqueeze', [scores, graph.integers('window.axes', [0, 1])], `${name}.bias`)
  }

  /** Adds the distance of each token to each other: int64 `[sequence, sequence]`, `other - token`. */
  #addDistances(): string {
    if (this.#distances !== null) return this.#distances
    const graph = this.#graph
    const shape = graph.node('Shape', [this.#options.tokens], 'distance.shape', { start: 1 })
    const scalar = graph.node('Squeeze', [shape], 'distance.length')
    const [zero, one] = [0, 1].map(value =>
      graph.constant(`distance.${value}`, 'int64', [], new Uint8Array(BigInt64Array.of(BigInt(value)).buffer))
    ) as [string, string]
    const range = graph.node('Range', [zero, scalar, one], 'distance.range')
    const column = graph.node('Unsqueeze', [range, graph.integers('distance.axis', [1])], 'distance.column')
    this.#distances = graph.node('Sub', [range, column], 'distance.all')
    return this.#distances
  }
}

/**
 * Returns the bucket of a relative position, `other - token`: half of the buckets for each direction, exact for near
 * tokens and logarithmic for far ones.
 */
export function bucketOf(relative: number, buckets: number): number {
  const half = Math.floor(buckets / 2)
  const exact = Math.floor(half / 2)
  const distance = Math.abs(relative)
  const start = relative > 0 ? half : 0
  if (distance < exact) return start + distance
  // In single precision, as in the reference: a distance at the edge of two buckets must not fall into the other one.
  const share = Math.fround(Math.fround(Math.log(distance / exact)) / Math.log(MAX_DISTANCE / exact))
  return start + Math.min(exact + Math.trunc(Math.fround(share * (half - exact))), half - 1)
}
