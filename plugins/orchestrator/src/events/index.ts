// Exports of this folder for tests. Sources import the files directly.
export { EventBus } from './bus.ts'
export { EventLog } from './log.ts'
