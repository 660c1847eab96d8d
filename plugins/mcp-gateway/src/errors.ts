import { errorTable } from '@svc/plugin-sdk'

/** Codes of the gateway. */
export const gatewayErrors = errorTable({
  GWY_TOKEN_MISSING: { message: 'The gateway is on, but no token is set.' },
  GWY_TOKENS_EQUAL: { message: 'The tokens of the two roles are equal.' },
  GWY_TOOL_UNKNOWN: { message: 'A list of allowed tools has a name that no installed plugin offers.' },
  GWY_ORIGIN_INVALID: { message: 'An entry of allowed_origins is not an origin.' }
})
