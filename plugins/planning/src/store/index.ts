// The face of this folder for tests. Sources import the files.
export { DEFAULT_TRIGGERS, matchingTrigger } from './materialise.ts'
export { PlanStore } from './plan-store.ts'
