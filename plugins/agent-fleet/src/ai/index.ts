// Exports of this folder for tests. Sources import the files directly.

export { allowedActions } from './agent-tools.ts'
export { toChatml } from './chatml.ts'
export { chooseModel, priceOf } from './model-choice.ts'
export { shorten } from './shorten.ts'
export { attestationOf, readVerdict, type Verdict, verdictSchema } from './verdict.ts'
