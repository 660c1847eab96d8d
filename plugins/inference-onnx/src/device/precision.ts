import type { Precision } from '../onnx/graph.ts'
import type { Dtype } from '../safetensors.ts'

/** Requested precision on a device; `auto` depends on the device and the checkpoint. */
export type PrecisionChoice = 'auto' | Precision
export const precisionChoices: readonly PrecisionChoice[] = ['auto', 'float32', 'float16', 'bfloat16']

/**
 * Returns the element type of weights, activations and cache. CUDA supports attention only in half precision, so it
 * keeps the checkpoint's type, and rounds F32 to float16. WebGPU drivers may lack half precision, so it must be
 * requested. The CPU computes in float32.
 */
export function precisionOf(device: string, stored: Dtype, choice: PrecisionChoice): Precision {
  if (device === 'cpu') return 'float32'
  if (choice !== 'auto') return choice
  if (!device.startsWith('cuda')) return 'float32'
  return stored === 'BF16' ? 'bfloat16' : 'float16'
}
