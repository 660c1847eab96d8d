import type { DecoderConfig } from '../model-config.ts'
import { type Rope, rotaryTables } from '../rope.ts'
import type { DecoderSurface, LayerWeights } from './decoder.ts'
import type { OnnxGraph } from './graph.ts'
import { linear } from './linear.ts'
import type { Norms } from './norms.ts'

const halves = ['key', 'value'] as const

/** Names of the graph values with the tables of a rotary embedding. */
interface Rotary {
  readonly cos: string
  readonly sin: string
}

/** Adds the attention of each layer to a graph. */
export class Attention {
  readonly #graph: OnnxGraph
  readonly #config: DecoderConfig
  readonly #surface: DecoderSurface
  readonly #norms: Norms
  readonly #lengths: { readonly lastPositions: string; readonly total: string }
  readonly #rotary: Rotary
  readonly #windowRotary: Rotary

  /** `positions`: maximum length of the context. */
  constructor(graph: OnnxGraph, config: DecoderConfig, surface: DecoderSurface, norms: Norms, positions: number) {
    this.#graph = graph
    this.#config = config
    this.#surface = surface
    this.#norms = norms
    this.#lengths = surface.lengths(graph)
    this.#rotary = addTables(graph, 'rotary', config.rope, positions)
    this.#windowRotary =
      config.windowRope === config.rope ? this.#rotary : addTables(graph, 'rotary.window', config.windowRope, positions)
  }

  /** Adds the attention over `hidden`, without the output projection: `[batch, sequence, heads * headSize]`. */
  add(layer: number, weights: LayerWeights, hidden: string): string {
    const config = this.#config
    const { batch, length } = this.#surface.pastDimensions
    const shape = (size: string) => [batch, config.keyValueHeads, size, config.headSize]
    const past = halves.map(half =>
      this.#graph.input(this.#surface.pastName(layer, half), this.#graph.precision, shape(length))
    )
    const present = halves.map(half =>
      this.#graph.output(this.#surface.presentName(layer, half), this.#graph.precision, shape('present_length'))
    )
    const window = config.windows[layer] ?? null
    const { cos, sin } = window === null ? this.#rotary : this.#windowRotary
    return this.#graph.contrib(
      'GroupQueryAttention',
      [
        ...this.#projections(layer, weights, hidden),
        ...past,
        this.#lengths.lastPositions,
        this.#lengths.total,
        cos,
        sin
      ],
      [`layer.${layer}.attention`, ...present],
      {
        num_heads: config.heads,
        kv_num_heads: config.keyValueHeads,
        do_rotary: 1,
        scale: { float: config.attentionScale },
        ...(window === null ? {} : { local_window_size: window }),
        ...(config.attentionSoftcap === null ? {} : { softcap: { float: config.attentionSoftcap } })
      }
    )
  }

  /** Returns the names of query, key and value: one packed value and two absent ones, or three values. */
  #projections(layer: number, { queryKeyValue, norms }: LayerWeights, hidden: string): readonly string[] {
    const name = (part: string) => `layer.${layer}.${part}`
    const names = ['q', 'k', 'v'].map(name)
    if ('weight' in queryKeyValue) {
      const joined = linear(this.#graph, name('qkv'), hidden, queryKeyValue)
      if (norms.heads === null) return [joined, '', '']
      this.#graph.nodeWithOutputs('Split', [joined, this.#projectionSizes()], names, { axis: -1 })
    } else {
      for (const [index, part] of queryKeyValue.entries()) linear(this.#graph, names[index] as string, hidden, part)
    }
    if (norms.heads === null) return names
    const [query, key, value] = names as [string, string, string]
    return [
      this.#norms.addToHeads(`${query}.normed`, query, this.#config.heads, norms.heads.query),
      this.#norms.addToHeads(`${key}.normed`, key, this.#config.keyValueHeads, norms.heads.key),
      value
    ]
  }

  #projectionSizes(): string {
    const { heads, keyValueHeads, headSize } = this.#config
    return this.#graph.integers('qkv.sizes', [heads * headSize, keyValueHeads * headSize, keyValueHeads * headSize])
  }
}

function addTables(graph: OnnxGraph, name: string, rope: Rope, positions: number): Rotary {
  const { cos, sin } = rotaryTables(rope, positions)
  const shape = [positions, cos.length / positions]
  const table = (part: string, values: Float32Array) =>
    graph.inPrecision(graph.constant(`${name}.${part}`, 'float32', shape, new Uint8Array(values.buffer)), 'float32')
  return { cos: table('cos', cos), sin: table('sin', sin) }
}
