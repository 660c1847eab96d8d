// Exports of this folder for tests. Sources import the files directly.
export { exposedValues } from './exposition-values.ts'
export { LogFile, readLogLines } from './log-file.ts'
export { MAX_POINTS, MAX_SERIES, MetricHistory } from './metric-history.ts'
export { MetricSampler } from './metric-sampler.ts'
export { RequestCounter } from './request-counter.ts'
export { RetryingFile } from './retrying-file.ts'
export { Ring } from './ring.ts'
export { RingFeed } from './ring-feed.ts'
