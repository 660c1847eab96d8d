import type { DecoderWeights } from '../onnx/decoder.ts'
import type { ExternalTensor } from '../onnx/graph.ts'

/** Returns the tensors of a decoder, each once, by name. */
export function externalTensors(weights: DecoderWeights): readonly ExternalTensor[] {
  const tensors = new Map<string, ExternalTensor>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (isExternal(value)) tensors.set(value.name, value)
    else for (const part of Object.values(value)) visit(part)
  }
  visit(weights)
  return [...tensors.values()]
}

function isExternal(value: object): value is ExternalTensor {
  return 'location' in value && 'byteLength' in value
}
