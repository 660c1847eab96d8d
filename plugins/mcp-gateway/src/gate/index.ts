// The face of this folder for tests. Sources import the files.
export { BearerTokens } from './bearer-tokens.ts'
export { clientKey } from './client-key.ts'
