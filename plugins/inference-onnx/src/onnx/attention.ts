import type { DecoderConfig } from '../model-config.ts'
import { type Rope, rotaryTables } from '../rope.ts'
import type { AttentionWeights, DecoderSurface } from './decoder.ts'
import type { OnnxGraph } from './graph.ts'
import { linear } from './linear.ts'
import type { Norms } from './norms.ts'

const halves = ['key', 'value'] as const

/** Names of the graph values with the tables of a rotary embedding. */
interface Rotary {
  readonly cos: string
  readonly sin: string
}

interface Projections {
  readonly projections: readonly string[]
  readonly gate: string | null
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
  add(layer: number, weights: AttentionWeights, hidden: string): string {
    const config = this.#config
    const { batch, length } = this.#surface.pastDimensions
    const shape = (size: string) => [batch, config.keyValueHeads, size, config.headSize]
    const cached = this.#surface.cached === false ? [] : halves
    const past = cached.map(half =>
      this.#graph.input(this.#surface.pastName(layer, half), this.#graph.precision, shape(length))
    )
    const present = cached.map(half =>
      this.#graph.output(this.#surface.presentName(layer, half), this.#graph.precision, shape('present_length'))
    )
    const window = config.windows[layer] ?? null
    const { cos, sin } = window === null ? this.#rotary : this.#windowRotary
    const { projections, gate } = this.#projections(layer, weights, hidden)
    const attended = this.#graph.contrib(
      'GroupQueryAttention',
      [...projections, past[0] ?? '', past[1] ?? '', this.#lengths.lastPositions, this.#lengths.total, cos, sin],
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
    if (gate === null) return attended
    const opened = this.#graph.node('Sigmoid', [gate], `${gate}.open`)
    return this.#graph.node('Mul', [attended, opened], `${attended}.gated`)
  }

  /**
   * Returns the names of query, key and value (one packed value and two absent ones, or three values), and of the
   * output's gate.
   */
  #projections(layer: number, { queryKeyValue, headNorms }: AttentionWeights, hidden: string): Projections {
    const { heads, keyValueHeads, outputGate } = this.#config
    const name = (part: string) => `layer.${layer}.${part}`
    const names = ['q', 'k', 'v'].map(name)
    if ('weight' in queryKeyValue) {
      const joined = linear(this.#graph, name('qkv'), hidden, queryKeyValue)
      if (headNorms === null && !outputGate) return { projections: [joined, '', ''], gate: null }
      this.#graph.nodeWithOutputs('Split', [joined, this.#projectionSizes()], names, { axis: -1 })
    } else {
      for (const [index, part] of queryKeyValue.entries()) linear(this.#graph, names[index] as string, hidden, part)
    }
    let [query, key, value] = names as [string, string, string]
    const gate = outputGate ? name('gate.heads') : null
    if (gate !== null) query = this.#splitGate(query, gate)
    if (headNorms !== null) {
      query = this.#norms.addToHeads(`${query}.normed`, query, heads, headNorms.query)
      key = this.#norms.addToHeads(`${key}.normed`, key, keyValueHeads, headNorms.key)
    }
    return { projections: [query, key, value], gate }
  }

  /** Splits each head's query and gate, and adds the gate as `gate`. Returns the name of the query. */
  #splitGate(both: string, gate: string): string {
    const { heads, headSize } = this.#config
    const graph = this.#graph
    const split = graph.integers('gate.split', [0, 0, heads, 2 * headSize])
    const joined = graph.integers('gate.joined', [0, 0, heads * headSize])
    const rows = graph.node('Reshape', [both, split], `${both}.heads`)
    const halves = [`${both}.query`, `${both}.gate`]
    graph.nodeWithOutputs('Split', [rows, graph.integers('gate.sizes', [headSize, headSize])], halves, { axis: -1 })
    graph.node('Reshape', [halves[1] as string, joined], gate)
    return graph.node('Reshape', [halves[0] as string, joined], `${both}.alone`)
  }

  #projectionSizes(): string {
    const { heads, keyValueHeads, headSize, outputGate } = this.#config
    const query = (outputGate ? 2 : 1) * heads * headSize
    return this.#graph.integers('qkv.sizes', [query, keyValueHeads * headSize, keyValueHeads * headSize])
  }
}

function addTables(graph: OnnxGraph, name: string, rope: Rope, positions: number): Rotary {
  const { cos, sin } = rotaryTables(rope, positions)
  const shape = [positions, cos.length / positions]
  const table = (part: string, values: Float32Array) =>
    graph.inPrecision(graph.constant(`${name}.${part}`, 'float32', shape, new Uint8Array(values.buffer)), 'float32')
  return { cos: table('cos', cos), sin: table('sin', sin) }
}
