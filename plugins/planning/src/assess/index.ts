// Exports of this folder for tests. Sources import the files directly.
export {
  type AdequacyQuestion,
  type AdequacyReport,
  assessPlan,
  complexityHint,
  estimateGoal,
  targetTasks
} from './adequacy.ts'
export { planQgate } from './qgate.ts'
export { qualityCodes } from './quality-gate.ts'
export { isInRollout as takesPart, rolloutBucket } from './rollout.ts'
export { complexityOf, intentOf, routeGoal } from './router.ts'
