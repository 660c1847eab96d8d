import { parentPort } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import { type CompilableConstraint, compileConstraint } from './compile-constraint.ts'
import { CompileLimitExceeded, withLimits } from './compile-limits.ts'
import type { CompileJob, CompileReply } from './constraint-threads.ts'

if (parentPort === null) throw new Error('this program must run in a thread')
const port = parentPort

port.once('message', (job: CompileJob) => port.postMessage(answer(job.constraint, job.limitMs)))

function answer(constraint: CompilableConstraint, limitMs: number): CompileReply {
  try {
    return { tables: withLimits({ milliseconds: limitMs }, () => compileConstraint(constraint)) }
  } catch (error) {
    if (error instanceof CompileLimitExceeded) return { late: true }
    const { data, hint } = error as { readonly data?: { readonly path?: unknown }; readonly hint?: unknown }
    return { refusal: { message: errorMessage(error), path: String(data?.path ?? '#'), hint: hint?.toString() } }
  }
}
