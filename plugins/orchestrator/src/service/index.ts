// The face of this folder for tests. Sources import the files.
export { forwardClock } from './clock.ts'
export { type OpenOrchestrator, openOrchestrator } from './open.ts'
