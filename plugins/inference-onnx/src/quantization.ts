import type { LoadOptions, Quantization } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'

/** Requested quantisation; with `auto`, the engine chooses. */
export type QuantizationChoice = NonNullable<LoadOptions['quantization']>
export const quantizationChoices: readonly QuantizationChoice[] = ['auto', 'none', 'q8', 'q4']

/** Minimum number of weights for which `auto` quantises: smaller models are fast anyway, and lose more quality. */
const MIN_PARAMETERS = 256_000_000

/**
 * Returns the representation of a model's weights. For larger models on the CPU, `auto` is `q8`: it reads prompts
 * fastest and, unlike `q4`, hardly changes answers. Other devices have fast half precision.
 *
 * Throws `INF_OPTION_INVALID` for an unknown value.
 */
export function chooseQuantization(
  choice: QuantizationChoice,
  model: { readonly parameters: number; readonly device: string }
): Quantization {
  if (!quantizationChoices.includes(choice)) {
    throw inferenceErrors.create('INF_OPTION_INVALID', `quantization is ${choice}`, {
      at: { path: 'quantization' },
      data: { name: 'quantization', value: choice },
      hint: `Use one of ${quantizationChoices.join(', ')}.`
    })
  }
  if (choice !== 'auto') return choice
  return model.device === 'cpu' && model.parameters >= MIN_PARAMETERS ? 'q8' : 'none'
}
