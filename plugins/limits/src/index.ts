export { judge, type Warning } from './judge.ts'
export { type Measurement, measure, memoryOf } from './measure.ts'
export { Watcher } from './watcher.ts'
