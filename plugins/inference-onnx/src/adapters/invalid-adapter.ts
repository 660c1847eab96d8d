import { inferenceErrors } from '../errors.ts'

/** `INF_ADAPTER_INVALID`, which says what is wrong in which file. */
export function invalidAdapter(file: string, reason: string, hint?: string) {
  return inferenceErrors.create('INF_ADAPTER_INVALID', `${file}: ${reason}`, {
    at: { file },
    data: { file },
    ...(hint === undefined ? {} : { hint })
  })
}
