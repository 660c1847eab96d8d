import { defined } from '@svc/plugin-sdk'
import { inferenceErrors } from '../errors.ts'

/** `INF_ADAPTER_INVALID`, with the file and its problem. */
export function invalidAdapter(file: string, reason: string, hint?: string) {
  return inferenceErrors.create('INF_ADAPTER_INVALID', `${file}: ${reason}`, {
    at: { file },
    data: { file },
    ...defined({ hint })
  })
}
