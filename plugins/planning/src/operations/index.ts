// The face of this folder for tests. Sources import the files.

export { plan } from './plan.ts'
export { planExecute, planList, planNew, planReplan, planResume, planStatus } from './plan-sessions.ts'
