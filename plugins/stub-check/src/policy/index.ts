// Exports of this folder for tests. Sources import the files directly.
export { compare, parseBaseline, printBaseline } from './baseline.ts'
export { judgeBudget, parseBudget } from './budget.ts'
export { applyFixes, planFixes } from './fixes.ts'
export { failing, RUN_MODES } from './severity.ts'
export { applySuppressions, parsePlaceSuppressions, parseSuppressions } from './suppressions.ts'
