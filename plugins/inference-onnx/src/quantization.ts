import type { LoadOptions, Quantization } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'
import { elementCount } from './ort/runtime.ts'
import type { TensorEntry } from './safetensors.ts'

/** Requested quantisation; with `auto`, the engine chooses. */
export type QuantizationChoice = NonNullable<LoadOptions['quantization']>
export const quantizationChoices: readonly QuantizationChoice[] = ['auto', 'none', 'q8', 'q4']

/** Minimum number of weights for which `auto` quantises: smaller models are fast anyway, and lose more quality. */
const MIN_PARAMETERS = 256_000_000

/** Encoding of most matrices of a model: plain elements, Q4_0, or other blocks. */
export type StoredWeights = 'plain' | 'Q4_0' | 'blocks'

/** Returns the encoding of most weights. */
export function storedWeights(entries: Iterable<TensorEntry>): StoredWeights {
  const counts = { plain: 0, Q4_0: 0, blocks: 0 }
  for (const { encoding, shape } of entries) {
    counts[encoding === undefined ? 'plain' : encoding === 'Q4_0' ? 'Q4_0' : 'blocks'] += elementCount(shape)
  }
  if (counts.plain >= counts.Q4_0 + counts.blocks) return 'plain'
  return counts.Q4_0 > counts.blocks ? 'Q4_0' : 'blocks'
}

/**
 * Returns the representation of a model's weights. For larger models on the CPU, `auto` is `q8`: it reads prompts
 * fastest and, unlike `q4`, hardly changes answers. Weights that are stored in blocks are never widened: Q4_0 stays as it
 * is, other encodings become `q8`. Other devices have fast half precision.
 *
 * Throws `INF_OPTION_INVALID` for an unknown value.
 */
export function chooseQuantization(
  choice: QuantizationChoice,
  model: { readonly parameters: number; readonly device: string; readonly stored?: StoredWeights }
): Quantization {
  if (!quantizationChoices.includes(choice)) {
    throw inferenceErrors.create('INF_OPTION_INVALID', `quantization is ${choice}`, {
      at: { path: 'quantization' },
      data: { name: 'quantization', value: choice },
      hint: `Use one of ${quantizationChoices.join(', ')}.`
    })
  }
  if (choice !== 'auto') return choice
  const { stored = 'plain' } = model
  if (model.device === 'cpu' && stored !== 'plain') return stored === 'Q4_0' ? 'q4' : 'q8'
  return model.device === 'cpu' && model.parameters >= MIN_PARAMETERS ? 'q8' : 'none'
}
