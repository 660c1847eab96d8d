import type { ExternalTensor, OnnxGraph } from './graph.ts'
import { multiplyInt8 } from './int8-product.ts'

/** Weight in one of the supported forms; each represents a matrix `[out, in]`. */
export type LinearWeight = FloatWeight | JoinedWeight | ChannelInt8Weight | BlockInt4Weight

/** Float matrix `[out, in]`, as in checkpoints. */
export interface FloatWeight {
  readonly form: 'float'
  readonly values: ExternalTensor
}

/** Several matrices `[out, in]`, whose rows are concatenated once, when the session is created. */
export interface JoinedWeight {
  readonly form: 'joined'
  readonly parts: readonly ExternalTensor[]
}

/** Matrix with one scale per rotated row: `rotated[o][i] = values[i][o] * scales[o]`. */
export interface ChannelInt8Weight {
  readonly form: 'channel-int8'
  /** int8 `[in, out]`. */
  readonly values: ExternalTensor
  /** F32 `[out]`. */
  readonly scales: ExternalTensor
}

/** Matrix with one scale per {@link BLOCK} weights of a row: `weight = (nibble - 8) * scale`. */
export interface BlockInt4Weight {
  readonly form: 'block-int4'
  readonly inputs: number
  readonly outputs: number
  /** uint8 `[out, blocks, BLOCK / 2]`: the first of two weights is in the low nibble; padding after `in` is 8. */
  readonly values: ExternalTensor
  /** F32 `[out * blocks]`. */
  readonly scales: ExternalTensor
}

/** Number of weights that share a scale in {@link BlockInt4Weight}. */
export const BLOCK = 32

/** Projection; its bias is F32 `[out]`. */
export interface Linear {
  readonly weight: LinearWeight
  readonly bias: ExternalTensor | null
  /** Set if adapter factors are graph inputs: one pair for each part of the outputs, in order. */
  readonly lowRank?: readonly LowRankInputs[]
}

/**
 * Graph inputs of a low-rank update, float32; the rank may differ between runs. `NAME.a` `[rank, inputs]` and `NAME.b`
 * `[rank, outputs]` are the factors, possibly of several adapters. {@link RANK_MASK} `[n, rank]` is 1 for the ranks that
 * apply to a sequence, and 0 for others; n is 1 if the same ranks apply to all sequences.
 */
export interface LowRankInputs {
  readonly name: string
  readonly inputs: number
  readonly outputs: number
  /** True if the projection is applied only to the positions that get logits, one of each sequence. */
  readonly isSelected: boolean
}

/** Graph input, float32, of all low-rank updates. */
export const RANK_MASK = 'adapter.mask'
/** `TensorProto.DataType` of truth values. */
const BOOLEAN = 9

/** Adds `input * weight^T + bias`, called `name`: `[..., in]` to `[..., out]`. */
export function linear(graph: OnnxGraph, name: string, input: string, source: Linear): string {
  const { weight, bias, lowRank } = source
  const sum = lowRank === undefined ? name : `${name}.base`
  const product = bias === null ? sum : `${name}.product`
  multiply(graph, product, input, weight)
  if (bias !== null) graph.node('Add', [product, graph.weight(bias)], sum)
  return lowRank === undefined ? name : addLowRank(graph, name, input, sum, lowRank)
}

/** Adds `base` and the updates of its parts, called `name`; the small products are always float32. */
function addLowRank(
  graph: OnnxGraph,
  name: string,
  input: string,
  base: string,
  parts: readonly LowRankInputs[]
): string {
  const wide = graph.inPrecision(input, graph.precision, 'float32')
  const updates = parts.map(part => addUpdate(graph, `${name}.update.${part.name}`, wide, part))
  const [first = ''] = updates
  const update = updates.length === 1 ? first : graph.node('Concat', updates, `${name}.update`, { axis: -1 })
  return graph.node('Add', [base, graph.inPrecision(update, 'float32')], name)
}

/** Adds `masked(input * a^T) * b`, called `name`. */
function addUpdate(graph: OnnxGraph, name: string, input: string, part: LowRankInputs): string {
  const a = graph.input(`${part.name}.a`, 'float32', ['rank', part.inputs])
  const b = graph.input(`${part.name}.b`, 'float32', ['rank', part.outputs])
  const selected = graph.once(`${RANK_MASK}.selected`, () => {
    graph.input(RANK_MASK, 'float32', ['masks', 'rank'])
    graph.node('Cast', [RANK_MASK], `${RANK_MASK}.selected`, { to: BOOLEAN })
  })
  const all = graph.once(`${RANK_MASK}.all`, () =>
    graph.node('Unsqueeze', [selected, graph.integers('adapter.axis', [1])], `${RANK_MASK}.all`)
  )
  multiplyTransposed(graph, `${name}.ranks`, input, a)
  // Chosen instead of multiplied by 0: a value that overflows with one adapter must not change other sequences.
  const zero = graph.scalar('adapter.zero', 0, 'float32')
  const masked = graph.node('Where', [part.isSelected ? selected : all, `${name}.ranks`, zero], `${name}.masked`)
  return graph.node('MatMul', [masked, b], name)
}

/**
 * Adds the embedding lookup of tokens, called `name`: `[batch, sequence]` to `[batch, sequence, in]`. Rows that are
 * stored in another precision are converted after the lookup.
 */
export function embed(graph: OnnxGraph, name: string, tokens: string, weight: ExternalTensor): string {
  const rows = graph.node('Gather', [graph.external(weight), tokens], name, { axis: 0 })
  return graph.inPrecision(rows, weight.type ?? 'float32')
}

function multiply(graph: OnnxGraph, name: string, input: string, weight: LinearWeight): void {
  switch (weight.form) {
    case 'float':
      multiplyTransposed(graph, name, input, graph.weight(weight.values))
      return
    case 'joined': {
      const parts = weight.parts.map(part => graph.weight(part))
      const joined = graph.node('Concat', parts, `${name}.weight`, { axis: 0 })
      multiplyTransposed(graph, name, input, joined)
      return
    }
    case 'channel-int8':
      multiplyInt8(graph, name, input, weight)
      return
    case 'block-int4':
      graph.contrib('MatMulNBits', [input, graph.external(weight.values), graph.weight(weight.scales)], [name], {
        K: weight.inputs,
        N: weight.outputs,
        bits: 4,
        block_size: BLOCK,
        // Inputs are rounded to int8 by block too, because the CPU multiplies int8 fast.
        accuracy_level: 4
      })
  }
}

/** Adds `input * matrix^T`. Without a fused operator, the matrix is transposed once, when the session is created. */
function multiplyTransposed(graph: OnnxGraph, name: string, input: string, matrix: string): void {
  if (graph.fusedProducts) graph.contrib('FusedMatMul', [input, matrix], [name], { transB: 1 })
  else graph.node('MatMul', [input, graph.node('Transpose', [matrix], `${name}.transposed`)], name)
}
