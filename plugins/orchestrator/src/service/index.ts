// Exports of this folder for tests. Sources import the files directly.
export { forwardClock } from './clock.ts'
export { type OpenOrchestrator, openOrchestrator } from './open.ts'
export { policyView } from './policy-view.ts'
