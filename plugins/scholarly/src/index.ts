export { createOnce } from './adapters/deposit/create-once.ts'
export { osfAdapter } from './adapters/osf/osf-adapter.ts'
export type { AdapterParts } from './adapters/parts.ts'
export { workOf } from './adapters/work.ts'
export { zenodoAdapter } from './adapters/zenodo/zenodo-adapter.ts'
export { zenodoLicense } from './adapters/zenodo/zenodo-licenses.ts'
export { idempotencyKey, JOB_STATES, type JobState } from './jobs/job.ts'
export {
  scholarlyAdaptersList,
  scholarlyCancel,
  scholarlyJob,
  scholarlyJobs,
  scholarlyReplay,
  scholarlyRun,
  scholarlyStatus,
  scholarlySubmissions,
  scholarlySubmit
} from './operations.ts'
export { type Settings, settings } from './settings.ts'
