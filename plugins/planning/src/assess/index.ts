// Exports of this folder for tests. Sources import the files directly.
export { type AdequacyQuestion, assessPlan, complexityHint, estimateGoal, targetTasks } from './adequacy.ts'
export { qualityCodes } from './quality-gate.ts'
export { rolloutBucket, isInRollout as takesPart } from './rollout.ts'
export { complexityOf, intentOf, routeGoal } from './router.ts'
