// Exports of this folder for tests. Sources import the files directly.
export { contextEnvelopeSchema } from './envelope-schema.ts'
export { injectedText } from './inject.ts'
export { mergeEnvelopes } from './merge.ts'
export { oboToken } from './obo-token.ts'
export { parseEnvelope } from './parse.ts'
export { qgateOf } from './retrieval-evidence.ts'
export { violationsOf } from './validate.ts'
