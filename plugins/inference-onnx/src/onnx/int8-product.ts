import { hadamardMatrix, rotationSize } from '../hadamard.ts'
import type { OnnxGraph } from './graph.ts'
import type { ChannelInt8Weight } from './linear.ts'

/** Minimum magnitude of a row, which avoids a division by zero. */
const MIN_PEAK = 1e-20
const LARGEST = 127
/** Value that represents 0: inputs are unsigned, because x64 has no fast kernel for signed ones. */
const ZERO_POINT = 128

/**
 * Adds `input * weight^T`, called `name`. Each input row is rotated and rounded to 8 bits by its own largest magnitude,
 * so its result does not depend on other rows. The sums are integers and therefore exact: a token's result is the same
 * separately and in a batch.
 */
export function multiplyInt8(graph: OnnxGraph, name: string, input: string, weight: ChannelInt8Weight): void {
  const part = (what: string) => `${name}.${what}`
  const number = (constant: string, value: number) => graph.scalar(`int8.${constant}`, value)
  const zeroPoint = graph.constant('int8.zero', 'uint8', [], Uint8Array.of(ZERO_POINT))
  const lastAxis = graph.integers('int8.axis', [-1])
  const rotated = rotateInput(graph, name, input, rotationSize(weight.values.shape[0] as number))
  const magnitudes = graph.node('Abs', [rotated], part('magnitudes'))
  const largest = graph.node('ReduceMax', [magnitudes, lastAxis], part('largest'), { keepdims: 1 })
  const peak = graph.node('Max', [largest, number('least', MIN_PEAK)], part('peak'))
  const factor = graph.node('Div', [number('range', LARGEST), peak], part('factor'))
  const scaled = graph.node('Mul', [rotated, factor], part('scaled'))
  const rounded = graph.node('QuantizeLinear', [scaled, number('one', 1), zeroPoint], part('rounded'))
  const product = graph.contrib(
    'MatMulIntegerToFloat',
    [rounded, graph.external(weight.values), number('step', 1 / LARGEST), graph.external(weight.scales), zeroPoint],
    [part('unscaled')]
  )
  graph.node('Mul', [product, peak], name)
}

/** Rotates the input, as the weights were rotated before quantisation. */
function rotateInput(graph: OnnxGraph, name: string, input: string, size: number): string {
  const matrix = new Uint8Array(hadamardMatrix(size).buffer)
  const hadamard = graph.constant(`int8.hadamard.${size}`, 'float32', [size, size], matrix)
  const runs = graph.integers(`int8.runs.${size}`, [-1, size])
  const split = graph.node('Reshape', [input, runs], `${name}.split`)
  const turned = graph.node('MatMul', [split, hadamard], `${name}.turned`)
  return graph.node('Reshape', [turned, graph.node('Shape', [input], `${name}.shape`)], `${name}.rotated`)
}
