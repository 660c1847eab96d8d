import { parentPort, workerData } from 'node:worker_threads'
import { isRemoteFailure, type PublicationManifest } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { workOf } from '../work.ts'
import { checkDocument } from './checks.ts'
import { texDocument } from './document.ts'
import type { DocumentReply } from './document-thread.ts'
import { Findings } from './findings.ts'

const port = parentPort
if (port === null) throw new Error('this program must run in a thread')
port.postMessage(reply(workerData as PublicationManifest))

function reply(manifest: PublicationManifest): DocumentReply {
  try {
    const findings = new Findings()
    const { tex, figures } = texDocument(manifest, workOf(manifest), findings)
    checkDocument(tex, figures, findings)
    return { tex, figures, findings: findings.list() }
  } catch (error) {
    const { failureClass, code } = isRemoteFailure(error)
      ? error
      : { failureClass: 'fatal' as const, code: 'document_failed' }
    return { failure: { message: errorMessage(error), failureClass, code } }
  }
}
