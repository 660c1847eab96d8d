import { inferenceErrors } from '../errors.ts'
import type { StoredType } from '../onnx/graph.ts'
import type { Dtype, TensorEntry } from '../safetensors.ts'

/** Element types of float weights. */
export const floatTypes: Readonly<Partial<Record<Dtype, StoredType>>> = {
  F32: 'float32',
  BF16: 'bfloat16',
  F16: 'float16'
}

/**
 * Returns a float tensor. `folder`: that of the weights, for messages.
 *
 * Throws `INF_RUN_DIR_TENSOR_MISSING`, or `INF_RUN_DIR_TENSOR_INVALID` for another shape or element type.
 */
export function requireTensor(
  folder: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  name: string,
  shape: readonly number[]
): { readonly entry: TensorEntry; readonly type: StoredType } {
  const entry = tensors.get(name)
  if (entry === undefined) {
    throw inferenceErrors.create('INF_RUN_DIR_TENSOR_MISSING', `${folder}: ${name} is in no weight file`, {
      at: { file: folder },
      data: { file: folder, tensor: name },
      hint: 'Download the weights again, or check that config.json belongs to them.'
    })
  }
  const type = floatTypes[entry.dtype]
  const fits = entry.shape.length === shape.length && entry.shape.every((size, axis) => size === shape[axis])
  if (fits && type !== undefined) return { entry, type }
  const wanted = fits ? Object.keys(floatTypes).join(', ') : `[${shape.join(', ')}], as in config.json`
  throw inferenceErrors.create(
    'INF_RUN_DIR_TENSOR_INVALID',
    `${entry.file}: ${name} at byte ${entry.offset} is ${entry.dtype} [${entry.shape.join(', ')}], not ${wanted}`,
    { at: { file: entry.file }, data: { file: entry.file, offset: entry.offset, tensor: name } }
  )
}
