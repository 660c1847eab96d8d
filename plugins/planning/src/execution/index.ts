// Exports of this folder for tests. Sources import the files directly.
export { PlanExecution } from './plan-execution.ts'
