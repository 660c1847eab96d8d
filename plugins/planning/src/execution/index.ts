// The face of this folder for tests. Sources import the files.
export { PlanExecution } from './plan-execution.ts'
