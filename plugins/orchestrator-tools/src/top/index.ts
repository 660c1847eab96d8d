// Exports of this folder for tests. Sources import the files directly.
export { topCommand } from './command.ts'
export { eventLine } from './event-line.ts'
export { fit } from './fit.ts'
export { frame } from './frame.ts'
export { RateCounter } from './rates.ts'
export type { Snapshot, StatusReport } from './snapshot.ts'
export type { Source } from './source.ts'
export { Watcher } from './watcher.ts'
