import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the gateway. */
export const gatewayErrors = errorTable({
  GWY_TOKEN_MISSING: { message: 'The gateway is enabled, but no token is set.' },
  GWY_TOKENS_EQUAL: { message: 'The tokens of the two roles are equal.' },
  GWY_TOOL_UNKNOWN: { message: 'A list of allowed tools has a name that no installed plugin offers.' },
  GWY_ORIGIN_INVALID: { message: 'An entry of allowed_origins is not an origin.' }
})
