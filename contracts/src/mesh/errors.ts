import { errorTable } from '@svc/plugin-sdk'

/** Errors of mesh clients and of values that machines of a mesh exchange. */
export const meshErrors = errorTable({
  MSH_KEY_INVALID: { message: 'A key for signatures is not 32 bytes in hex or base64.', status: 400 },
  MSH_URL_INVALID: { message: 'The URL of a control plane cannot be used.', status: 400 }
})
