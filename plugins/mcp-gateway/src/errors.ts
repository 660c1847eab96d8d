import { errorTable } from '@svc/plugin-sdk'

/** Codes of the gateway. */
export const gatewayErrors = errorTable({
  GWY_TOKEN_MISSING: { message: 'The gateway is on and has no token that callers could show.' },
  GWY_TOKENS_EQUAL: { message: 'The tokens of the two roles are one.' },
  GWY_TOOL_UNKNOWN: { message: 'A list of allowed tools has a name that no installed plugin knows.' },
  GWY_ORIGIN_INVALID: { message: 'A setting of the gateway is to hold origins and holds something else.' }
})
