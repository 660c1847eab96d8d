// The face of this folder for tests. Sources import the files.
export { EventBus } from './bus.ts'
export { EventLog } from './log.ts'
