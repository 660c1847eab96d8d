// Exports of this folder for tests. Sources import the files directly.
export { parseModelPlan } from './model-plan.ts'
export type { PlannerModel } from './planner-model.ts'
export { draftPlan, type RefinementOptions } from './refinement.ts'
export { complexityOfText, piecesOf, splitGoal } from './splitter.ts'
export { inOrder } from './task-order.ts'
