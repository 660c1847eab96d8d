// Exports of this package for its tests.

export { approve, revoke } from './cli/commands.ts'
export { checkContent, MAX_BYTES } from './content.ts'
export { checkGate } from './gate.ts'
export { splitFrontMatter } from './manuscript/front-matter.ts'
export { identify, normalisedName, systemUser } from './people.ts'
export { Records } from './records.ts'
export { preflight, readiness } from './review/preflight.ts'
export { MINIMA, RED_LINES, WEIGHTS, worthiness } from './review/worthiness.ts'
export { mayFollow, TRANSITIONS } from './states.ts'
export { isDual } from './store/approvals.ts'
