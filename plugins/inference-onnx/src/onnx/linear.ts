import type { ExternalTensor, OnnxGraph } from './graph.ts'

/** A weight in one of the forms that a graph can multiply by. All of them stand for a matrix `[out, in]`. */
export type LinearWeight = FloatWeight

/** F32 `[out, in]`, as checkpoints store it. */
export interface FloatWeight {
  readonly form: 'float'
  readonly values: ExternalTensor
}

/** A projection; its bias is F32 `[out]`. */
export interface Linear {
  readonly weight: LinearWeight
  readonly bias: ExternalTensor | null
}

/** Adds `input * weight^T + bias`, called `name`: `[..., in]` to `[..., out]`. */
export function linear(graph: OnnxGraph, name: string, input: string, source: Linear): string {
  const output = source.bias === null ? name : `${name}.product`
  multiply(graph, output, input, source.weight)
  return source.bias === null ? name : graph.node('Add', [output, graph.external(source.bias)], name)
}

/** The rows of an embedding that belong to some tokens, called `name`: `[batch, sequence]` to `[batch, sequence, in]`. */
export function embed(graph: OnnxGraph, name: string, tokens: string, weight: LinearWeight): string {
  return graph.node('Gather', [graph.external(weight.values), tokens], name, { axis: 0 })
}

function multiply(graph: OnnxGraph, name: string, input: string, weight: LinearWeight): void {
  graph.contrib('FusedMatMul', [input, graph.external(weight.values)], [name], { transB: 1 })
}
