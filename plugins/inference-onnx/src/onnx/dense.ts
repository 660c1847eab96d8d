import type { ExternalTensor, OnnxGraph } from './graph.ts'
import type { LinearWeight } from './linear.ts'

/** Matrix with its bias, which is the concatenation of several tensors; empty for none. */
export interface Dense {
  readonly weight: LinearWeight
  readonly bias: readonly ExternalTensor[]
}

/** Adds the bias of a matrix to the graph; null if it has none. */
export function biasOf(graph: OnnxGraph, name: string, { bias }: Dense): string | null {
  const parts = bias.map(part => graph.weight(part))
  if (parts.length === 0) return null
  return parts.length === 1 ? (parts[0] as string) : graph.node('Concat', parts, name, { axis: 0 })
}
