import { isRemoteFailure } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { callerError } from '../failures.ts'
import type { scholarlyStatus, scholarlySubmissions } from '../operations/status.ts'
import { checkStatus } from '../status/check-status.ts'
import { type HandlerParts, submissionFields } from './parts.ts'

export function statusHandler(parts: HandlerParts): Handler<typeof scholarlyStatus> {
  return async ({ publication_id, submission, adapter, limit }, { signal }) => {
    const { submissions } = parts.queue()
    // Not the default archive: without a name, submissions to all archives are checked.
    const name = adapter === undefined ? undefined : parts.choice.find(adapter).name
    const found = await submissions.list({
      ...(publication_id === undefined ? {} : { publicationId: publication_id }),
      ...(submission === undefined ? {} : { externalSubmissionId: submission }),
      ...(name === undefined ? {} : { adapter: name }),
      limit
    })
    const wanted = submission ?? publication_id ?? name
    if (found.length === 0 && wanted !== undefined)
      throw scholarlyErrors.create('SCH_SUBMISSION_UNKNOWN', `${wanted}: no archive has confirmed a submission`, {
        hint: 'svc scholarly jobs shows submissions on their way'
      })
    const rows = []
    for (const each of found) {
      try {
        await checkStatus({ ...parts, submissions }, each, signal)
        const checked = await submissions.find(each.adapter, each.external_submission_id)
        rows.push(submissionFields(checked ?? each))
      } catch (error) {
        if (found.length === 1) throw callerError(error)
        if (!isRemoteFailure(error)) throw error
        const { failureClass, message } = error
        rows.push({ ...submissionFields(each), error_class: failureClass, error_message: parts.mask(message) })
      }
    }
    const quarantined = rows.filter(row => row.quarantined).length
    return {
      ok: rows.every(({ error_class }) => error_class === null),
      submissions: rows,
      note:
        quarantined === 0
          ? ''
          : `${quarantined} with a status that svc does not know: look at the archive; nothing was changed because of it`
    }
  }
}

export function submissionsHandler(parts: HandlerParts): Handler<typeof scholarlySubmissions> {
  return async ({ publication_id, quarantined, limit }) => {
    const found = await parts.queue().submissions.list({
      ...(publication_id === undefined ? {} : { publicationId: publication_id }),
      ...(quarantined ? { outcomes: ['unknown'] } : {}),
      limit
    })
    return { submissions: found.map(submissionFields) }
  }
}
