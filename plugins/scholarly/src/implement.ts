import type { PluginContext } from '@svc/plugin-sdk'
import { checkHandler } from './handlers/check.ts'
import * as jobHandlers from './handlers/jobs.ts'
import type { HandlerParts } from './handlers/parts.ts'
import { recordHandler } from './handlers/record.ts'
import { type StageParts, stageHandler } from './handlers/stage.ts'
import { statusHandler, submissionsHandler } from './handlers/status.ts'
import { preflightHandler, submitHandler } from './handlers/submit.ts'
import { scholarlyCheck } from './operations/check.ts'
import * as jobs from './operations/jobs.ts'
import * as status from './operations/status.ts'
import * as submit from './operations/submit.ts'

export const OPERATIONS = [
  submit.scholarlyAdapterList,
  scholarlyCheck,
  submit.scholarlySubmit,
  submit.scholarlyStage,
  submit.scholarlyPreflight,
  status.scholarlyStatus,
  status.scholarlySubmissions,
  jobs.scholarlyJobs,
  jobs.scholarlyJob,
  jobs.scholarlyReplay,
  jobs.scholarlyRecord,
  jobs.scholarlyCancel,
  jobs.scholarlyRun,
  jobs.scholarlyDismiss,
  jobs.scholarlyInbox
]

export function implementOperations(ctx: Pick<PluginContext, 'implement'>, parts: HandlerParts & StageParts): void {
  ctx.implement(submit.scholarlyAdapterList, jobHandlers.adaptersHandler(parts))
  ctx.implement(scholarlyCheck, checkHandler(parts))
  ctx.implement(submit.scholarlySubmit, submitHandler(parts))
  ctx.implement(submit.scholarlyStage, stageHandler(parts))
  ctx.implement(submit.scholarlyPreflight, preflightHandler(parts))
  ctx.implement(status.scholarlyStatus, statusHandler(parts))
  ctx.implement(status.scholarlySubmissions, submissionsHandler(parts))
  ctx.implement(jobs.scholarlyJobs, jobHandlers.jobsHandler(parts))
  ctx.implement(jobs.scholarlyJob, jobHandlers.jobHandler(parts))
  ctx.implement(jobs.scholarlyReplay, jobHandlers.replayHandler(parts))
  ctx.implement(jobs.scholarlyRecord, recordHandler(parts))
  ctx.implement(jobs.scholarlyCancel, jobHandlers.cancelHandler(parts))
  ctx.implement(jobs.scholarlyRun, jobHandlers.runHandler(parts))
  ctx.implement(jobs.scholarlyDismiss, jobHandlers.dismissHandler(parts))
  ctx.implement(jobs.scholarlyInbox, jobHandlers.inboxHandler(parts))
}
