import type { ExternalTensor, OnnxGraph } from './graph.ts'
import type { LinearWeight } from './linear.ts'

/** Matrix with its bias. */
export interface Dense {
  readonly weight: ExternalTensor
  readonly bias: ExternalTensor | null
}

/** Returns the weight of matrices that are computed together. */
export function joinedWeight(parts: readonly Dense[]): LinearWeight {
  const [first] = parts as readonly [Dense]
  return parts.length === 1
    ? { form: 'float', values: first.weight }
    : { form: 'joined', parts: parts.map(({ weight }) => weight) }
}

/** Returns the bias of matrices that are computed together; null if they have none. */
export function joinedBias(graph: OnnxGraph, name: string, parts: readonly Dense[]): string | null {
  const biases = parts.flatMap(({ bias }) => (bias === null ? [] : [graph.weight(bias)]))
  if (biases.length === 0) return null
  return biases.length === 1 ? (biases[0] as string) : graph.node('Concat', biases, name, { axis: 0 })
}
