import { parentPort } from 'node:worker_threads'
import { JinjaTemplate } from './jinja.ts'
import type { TemplateJob, TemplateReply } from './template-thread.ts'

if (parentPort === null) throw new Error('this program must run in a thread')
const port = parentPort

port.on('message', (job: TemplateJob) => port.postMessage(answer(job)))
port.postMessage('ready')

function answer({ source, variables, now, maxSteps }: TemplateJob): TemplateReply {
  try {
    return { text: new JinjaTemplate(source).render(variables, new Date(now), maxSteps) }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
