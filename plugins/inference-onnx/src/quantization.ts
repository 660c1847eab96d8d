import type { LoadOptions, Quantization } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'

/** Requested quantisation: `auto` chooses. */
export type QuantizationChoice = NonNullable<LoadOptions['quantization']>
export const quantizationChoices: readonly QuantizationChoice[] = ['auto', 'none', 'q8', 'q4']

/** Below this number of weights `auto` quantises nothing: such models are fast anyway, and the smaller, the more it costs. */
const MIN_PARAMETERS = 256_000_000

/**
 * How the weights of a model are held. `auto` takes `q8` for larger models on a processor: it is the fastest at reading
 * prompts and answers hardly change by it, where those of `q4` do. Other devices have fast half precision.
 *
 * Throws `INF_OPTION_INVALID` for a word that is no choice.
 */
export function chooseQuantization(
  choice: QuantizationChoice,
  model: { readonly parameters: number; readonly device: string }
): Quantization {
  if (!quantizationChoices.includes(choice)) {
    throw inferenceErrors.create('INF_OPTION_INVALID', `quantization is ${choice}`, {
      at: { path: 'quantization' },
      data: { name: 'quantization', value: choice },
      hint: `It is one of ${quantizationChoices.join(', ')}.`
    })
  }
  if (choice !== 'auto') return choice
  return model.device === 'cpu' && model.parameters >= MIN_PARAMETERS ? 'q8' : 'none'
}
