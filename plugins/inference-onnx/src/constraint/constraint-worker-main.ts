import { parentPort } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import { type CompilableConstraint, compileConstraint } from './compile-constraint.ts'
import { CompileTimeout, withTimeLimit } from './compile-time.ts'
import type { CompileJob, CompileReply } from './constraint-threads.ts'

if (parentPort === null) throw new Error('this program must run in a thread')
const port = parentPort

port.once('message', (job: CompileJob) => port.postMessage(answer(job.constraint, job.limitMs)))

function answer(constraint: CompilableConstraint, limitMs: number): CompileReply {
  try {
    return { tables: withTimeLimit(limitMs, () => compileConstraint(constraint)) }
  } catch (error) {
    if (error instanceof CompileTimeout) return { late: true }
    const { data, hint } = error as { readonly data?: { readonly path?: unknown }; readonly hint?: unknown }
    return { refusal: { message: errorMessage(error), path: String(data?.path ?? '#'), hint: hint?.toString() } }
  }
}
