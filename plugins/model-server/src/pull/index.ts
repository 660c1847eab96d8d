// Exports of this folder for tests. Sources import the files directly.
export { hubsOf } from './limits.ts'
export { Progress, type PullEvent } from './progress.ts'
export { Puller, type PullerOptions } from './puller.ts'
export { parseSource } from './source.ts'
