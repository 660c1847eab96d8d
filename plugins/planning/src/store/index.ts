// Exports of this folder for tests. Sources import the files directly.
export { DEFAULT_TRIGGERS, matchingTrigger } from './materialise.ts'
export { PlanStore } from './plan-store.ts'
