// Exports of this folder for tests. Sources import the files directly.
export { normalisedPriors, posteriors, readBelief, withAnswer } from './belief.ts'
export { questioningAnswer, questioningList, questioningPending, questioningSync } from './operations.ts'
export { assertValid as assertSound, POLICY, stopReason, utility } from './policy.ts'
export { chunks } from './policy-document.ts'
export { QuestionStore } from './store.ts'
