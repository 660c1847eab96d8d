import { defined } from '@svc/plugin-sdk'
import { inferenceErrors } from '../errors.ts'

/** Returns an `INF_ADAPTER_INVALID` error that names the file and the problem. */
export function invalidAdapter(file: string, reason: string, hint?: string) {
  return inferenceErrors.create('INF_ADAPTER_INVALID', `${file}: ${reason}`, {
    at: { file },
    data: { file },
    ...defined({ hint })
  })
}
