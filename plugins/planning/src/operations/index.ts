// Exports of this folder for tests. Sources import the files directly.

export { planCompare, planRecord, planSearch, planTable } from './console.ts'
export { plan } from './plan.ts'
export { planExecute, planList, planNew, planReplan, planResume, planStatus } from './plan-sessions.ts'
