import type { ExternalTensor, OnnxGraph } from './graph.ts'

/** A weight in one of the forms that a graph can multiply by. All of them stand for a matrix `[out, in]`. */
export type LinearWeight = FloatWeight | JoinedWeight | ChannelInt8Weight | BlockInt4Weight

/** F32 `[out, in]`, as checkpoints store it. */
export interface FloatWeight {
  readonly form: 'float'
  readonly values: ExternalTensor
}

/** Several matrices `[out, in]` under each other. They are joined once, when the session is made. */
export interface JoinedWeight {
  readonly form: 'joined'
  readonly parts: readonly ExternalTensor[]
}

/** One scale per row of the matrix: `weight[o][i] = values[i][o] * scales[o]`. */
export interface ChannelInt8Weight {
  readonly form: 'channel-int8'
  /** int8 `[in, out]`. */
  readonly values: ExternalTensor
  /** F32 `[out]`. */
  readonly scales: ExternalTensor
}

/** One scale per {@link BLOCK} weights of a row: `weight = (nibble - 8) * scale`. */
export interface BlockInt4Weight {
  readonly form: 'block-int4'
  readonly inputs: number
  readonly outputs: number
  /** uint8 `[out, blocks, BLOCK / 2]`, the earlier weight in the lower half; what goes beyond `in` is 8. */
  readonly values: ExternalTensor
  /** F32 `[out * blocks]`. */
  readonly scales: ExternalTensor
}

/** Weights that share a scale in {@link BlockInt4Weight}. */
export const BLOCK = 128

/** A projection; its bias is F32 `[out]`. */
export interface Linear {
  readonly weight: LinearWeight
  readonly bias: ExternalTensor | null
  /** Set where the factors of an adapter are inputs of the graph. */
  readonly lowRank?: LowRankInputs
}

/** Inputs `NAME.a` `[inputs, rank]` and `NAME.b` `[rank, outputs]`, float32; the rank may be 0 and change between runs. */
export interface LowRankInputs {
  readonly name: string
  readonly inputs: number
  readonly outputs: number
}

/** Adds `input * weight^T + bias`, called `name`: `[..., in]` to `[..., out]`. */
export function linear(graph: OnnxGraph, name: string, input: string, source: Linear): string {
  const { weight, bias, lowRank } = source
  const sum = lowRank === undefined ? name : `${name}.base`
  const product = bias === null ? sum : `${name}.product`
  multiply(graph, product, input, weight)
  if (bias !== null) graph.node('Add', [product, graph.weight(bias)], sum)
  return lowRank === undefined ? name : addLowRank(graph, name, input, sum, lowRank)
}

/** Adds `base + (input * a) * b`; the small products are float32 whatever the graph's precision is. */
function addLowRank(graph: OnnxGraph, name: string, input: string, base: string, lowRank: LowRankInputs): string {
  const rank = `${lowRank.name}.rank`
  const a = graph.input(`${lowRank.name}.a`, 'float32', [lowRank.inputs, rank])
  const b = graph.input(`${lowRank.name}.b`, 'float32', [rank, lowRank.outputs])
  const inner = graph.node('MatMul', [graph.inPrecision(input, graph.precision, 'float32'), a], `${name}.inner`)
  const update = graph.node('MatMul', [inner, b], `${name}.update`)
  return graph.node('Add', [base, graph.inPrecision(update, 'float32')], name)
}

/**
 * The rows of an embedding that belong to some tokens, called `name`: `[batch, sequence]` to `[batch, sequence, in]`.
 * What is stored in another precision than the graph's is converted row by row.
 */
export function embed(graph: OnnxGraph, name: string, tokens: string, weight: ExternalTensor): string {
  const rows = graph.node('Gather', [graph.external(weight), tokens], name, { axis: 0 })
  return graph.inPrecision(rows, weight.type ?? 'float32')
}

function multiply(graph: OnnxGraph, name: string, input: string, weight: LinearWeight): void {
  switch (weight.form) {
    case 'float':
      graph.contrib('FusedMatMul', [input, graph.weight(weight.values)], [name], { transB: 1 })
      return
    case 'joined': {
      const parts = weight.parts.map(part => graph.weight(part))
      const joined = graph.node('Concat', parts, `${name}.weight`, { axis: 0 })
      graph.contrib('FusedMatMul', [input, joined], [name], { transB: 1 })
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
        // Inputs are rounded to int8 by block too, which is what the processor multiplies fast.
        accuracy_level: 4
      })
  }
}

/** Rows that are all zero must not be divided by zero. */
const LEAST_PEAK = 1e-20
const LARGEST = 127
/** Signed inputs have no fast kernel on x64, so 0 is stored as 128. */
const ZERO_POINT = 128

/**
 * Every row of the input is rounded to 8 bits by its own largest magnitude, so that a row's result depends on no other
 * row. The sums are whole numbers, hence exact: a token's result is the same alone and in a batch.
 */
function multiplyInt8(graph: OnnxGraph, name: string, input: string, weight: ChannelInt8Weight): void {
  const part = (what: string) => `${name}.${what}`
  const number = (constant: string, value: number) => graph.scalar(`int8.${constant}`, value)
  const zeroPoint = graph.constant('int8.zero', 'uint8', [], Uint8Array.of(ZERO_POINT))
  const lastAxis = graph.integers('int8.axis', [-1])
  const magnitudes = graph.node('Abs', [input], part('magnitudes'))
  const largest = graph.node('ReduceMax', [magnitudes, lastAxis], part('largest'), { keepdims: 1 })
  const peak = graph.node('Max', [largest, number('least', LEAST_PEAK)], part('peak'))
  const factor = graph.node('Div', [number('range', LARGEST), peak], part('factor'))
  const scaled = graph.node('Mul', [input, factor], part('scaled'))
  const rounded = graph.node('QuantizeLinear', [scaled, number('one', 1), zeroPoint], part('rounded'))
  const product = graph.contrib(
    'MatMulIntegerToFloat',
    [rounded, graph.external(weight.values), number('step', 1 / LARGEST), graph.external(weight.scales), zeroPoint],
    [part('unscaled')]
  )
  graph.node('Mul', [product, peak], name)
}
