export { benchmarkFeed } from './benchmark-feed.ts'
export { DogfoodTrace, traceFile } from './dogfood-trace.ts'
export {
  benchmarkList,
  benchmarkRecord,
  telemetryDoctor,
  telemetryEnqueue,
  telemetryExport,
  telemetryStatus,
  telemetryUpload
} from './operations.ts'
export { redact } from './redact.ts'
export { Spool } from './spool.ts'
